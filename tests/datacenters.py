"""A node in each of two data centres, over one store.

town, a, b, queue = await two()
bodies = await move_to(town, b, queue)                 b gets traffic until its data centre is the queue's home
"""

from __future__ import annotations

from cqs.cache.interface import Residency
from cqs.queue import Queue
from cqs.service import repair, revisibility
from cqs.service.delete import delete
from cqs.service.engine import shard_of
from cqs.service.homes import COVER_MS, GRACE_FIFO_MS, HOLD_MS
from tests.cluster import Town
from tests.engine import Bench

SECOND_MS = 1_000
LONG_MS = 10 * COVER_MS


async def two(name: str = "orders") -> tuple[Town, Bench, Bench, Queue]:
    """A node in each data centre, and a queue that was created in the first."""
    town = Town()
    a, b = await town.node("a", "dc1"), await town.node("b", "dc2")
    queue = await a.create(name, visibility_ms=LONG_MS, retention_ms=10 * LONG_MS)
    await town.beat()
    return town, a, b, queue


async def unserved() -> tuple[Town, Bench, Bench, Queue]:
    """Like `two`, but no data centre has served the queue: its node died right after creating it."""
    town, _, b, queue = await two()
    town.shared.homes.clear()
    del town.nodes["a"]
    return town, await town.node("a", "dc1"), b, queue


async def pass_ms(town: Town, span_ms: int) -> None:
    """Advances the clock and runs the servers' background work."""
    for _ in range(max(1, span_ms // SECOND_MS)):
        town.clock.advance_ms(min(span_ms, SECOND_MS))
        await town.beat()
        for bench in town.nodes.values():
            await revisibility.step(bench.engine)
            await repair.step(bench.engine)
            await bench.engine.background.drain()


async def drain(bench: Bench, queue: Queue) -> list[str]:
    """Receives and deletes until the queue is empty. Returns the bodies."""
    bodies: list[str] = []
    while deliveries := await bench.receive(queue):
        for delivery in deliveries:
            bodies.append(delivery.message.body)
            await delete(bench.engine, queue, delivery.handle)
    return bodies


async def move_to(town: Town, bench: Bench, queue: Queue) -> list[str]:
    """Sends traffic to the node until its data centre is the queue's home and its cache is filled. Returns the bodies
    received and deleted meanwhile."""
    bodies: list[str] = []
    for _ in range((HOLD_MS + 2 * GRACE_FIFO_MS) // SECOND_MS):
        bodies += await drain(bench, queue)
        await pass_ms(town, SECOND_MS)
    homes = bench.engine.cluster.homes
    assert homes is not None
    assert await homes.is_here(shard_of(queue))
    assert (await bench.cache.state(shard_of(queue))).residency is Residency.READY
    return bodies
