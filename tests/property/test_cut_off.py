"""Every call of a consumer or producer, interrupted at each of its awaits in turn: cancelled, as by a node that stops
before it can finish, or with its node killed. The client retries the call on another node: no message is lost, none of
a FIFO queue is delivered twice or out of order, and nothing stays locked."""

from __future__ import annotations

import contextlib
import random
from collections import Counter
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any

import pytest

from cqs.cache.redis.cache import RedisCache
from cqs.errors import CqsError
from cqs.queue import Queue, Redrive
from cqs.service import delete, heartbeat, lookup, move_runner, move_tasks, queues, revisibility, visibility
from cqs.service.deliver import Delivery
from cqs.service.engine import shard_of
from cqs.service.membership import LIFE_MS
from cqs.service.receive import ReceiveRequest, receive
from cqs.service.send import Draft, send_batch
from cqs.service.sweep import SIGHT_MS, Sweep
from cqs.testing.fake_redis import FakeRedisServer
from tests.cluster import Town
from tests.engine import Bench, Failing, FailingCache
from tests.property.cutting import CutAt

VISIBILITY_MS = 20_000
WAITS_MAX = 300
EMPTY_RECEIVES = 3
STORE_CALLS = (
    "append", "claim", "release", "delete", "move", "read", "head", "occupied", "leases", "lease", "save", "create",
    "drop", "find", "move_tasks", "save_move_task",
)  # fmt: skip


class FakeRedisCache(Failing, RedisCache):
    def __init__(self, now_ms: Callable[[], int]) -> None:
        super().__init__({"fake": FakeRedisServer()}, lambda _: "fake", random.Random(1), now_ms=now_ms)


async def no_pause(_: int) -> None:
    pass


@dataclass(slots=True)
class World:
    town: Town
    a: Bench
    b: Bench
    orders: Queue
    dead: Queue
    held: list[Delivery] = field(default_factory=list)
    may_be_gone: set[str] = field(default_factory=set)
    may_be_twice: set[str] = field(default_factory=set)
    wanted: list[str] = field(default_factory=list)

    def draft(self, group: str, body: str) -> Draft:
        return Draft(body, group=group, dedup_id=body) if self.orders.settings.is_fifo else Draft(body)

    async def send(self, bench: Bench, *bodies: str) -> None:
        """Sends each body to the group named by its first letter."""
        await send_batch(bench.engine, self.orders, [self.draft(body[0], body) for body in bodies], "sender")


async def make_world(suffix: str, is_redis: bool, datacenters: tuple[str, str] = ("", "")) -> World:
    """Creates the queues: a consumer holds a1 and b1; a2 and c1 are ready; d1 is a dead letter."""
    town = Town()
    if is_redis:
        town.cache = FakeRedisCache(town.clock.now_ms)  # type: ignore[assignment]
    a, b = await town.node("a", datacenters[0]), await town.node("b", datacenters[1])
    dead = await a.create(f"dead{suffix}", visibility_ms=VISIBILITY_MS)
    orders = await a.create(f"orders{suffix}", visibility_ms=VISIBILITY_MS, redrive=Redrive(dead.arn, 3))
    await town.beat()
    world = World(town, a, b, orders, dead)
    await send_batch(a.engine, dead, [world.draft("d", "d1")], "sender")
    await world.send(a, "a1", "b1")
    world.held = await a.receive(orders)
    await world.send(a, "a2", "c1")
    world.wanted = ["a1", "a2", "b1", "c1", "d1"]
    return world


Call = Callable[[World, Bench], Coroutine[Any, Any, None]]


async def sends(world: World, bench: Bench) -> None:
    bodies = ["a3", "b2", "e1"]
    if bench is world.a:
        world.wanted += bodies
    if not world.orders.settings.is_fifo:
        world.may_be_twice.update(bodies)
    await world.send(bench, *bodies)


async def receives(world: World, bench: Bench) -> None:
    attempt = "attempt" if world.orders.settings.is_fifo else ""
    await receive(bench.engine, world.orders, ReceiveRequest(10, wait_ms=0, attempt_id=attempt), lambda: True)


async def polls(world: World, bench: Bench) -> None:
    await receive(bench.engine, world.dead, ReceiveRequest(1, wait_ms=0), lambda: True)
    await receive(bench.engine, world.dead, ReceiveRequest(1, wait_ms=1), lambda: True)


async def receives_from_the_store(world: World, bench: Bench) -> None:
    if bench is world.a:
        await world.town.cache.drop(shard_of(world.orders))
    await receives(world, bench)


async def deletes(world: World, bench: Bench) -> None:
    world.may_be_gone.update(one.message.body for one in world.held)
    await delete.delete_batch(bench.engine, world.orders, [one.handle for one in world.held])


async def changes_visibility(world: World, bench: Bench) -> None:
    changes = [(one.handle, ms) for one, ms in zip(world.held, (0, 2 * VISIBILITY_MS), strict=True)]
    await visibility.change_batch(bench.engine, world.orders, changes)


async def buries(world: World, bench: Bench) -> None:
    for _ in range(4):
        await bench.receive(world.orders, visibility_ms=0)


async def moves_dead_letters(world: World, bench: Bench) -> None:
    """Between the move in the store and the removal from the cache, the source's cache still has the message."""
    world.may_be_twice.add("d1")
    handle = await move_tasks.start(bench.engine, world.dead.arn, world.orders.arn, 0)
    while await move_runner.step(bench.engine, handle, no_pause) is not None:
        pass


async def purges(world: World, bench: Bench) -> None:
    world.may_be_gone.update(("a1", "a2", "b1", "c1"))
    await queues.purge(bench.engine, world.orders)


async def deletes_the_queue(world: World, bench: Bench) -> None:
    world.may_be_gone.update(("a1", "a2", "b1", "c1"))
    await queues.delete(bench.engine, world.orders)


async def goes_on(world: World, *, is_killed: bool) -> None:
    """Node a is gone, b has detected it, leases and locks have expired, and the sweep has found what only the store
    has."""
    town, engine = world.town, world.b.engine
    await world.a.engine.background.drain()
    if not is_killed:
        assert len(world.a.engine.waiters) == 0
        assert world.a.engine.hints.wanted(shard_of(world.orders)) == 0
        await heartbeat.leave(world.a.engine)
    del town.nodes["a"]
    await town.store.close()
    await town.store.open()
    sweep = Sweep()
    for _ in range(2):
        town.clock.advance_ms(max(SIGHT_MS, LIFE_MS, 3 * VISIBILITY_MS))
        await town.beat()
        while await revisibility.step(engine):
            pass
        await sweep.sweep(engine, no_pause)
        await engine.background.drain()


async def drained(world: World, queue: Queue) -> list[str]:
    """Receives everything from the queue through b, deleting each message before the next receive."""
    bodies: list[str] = []
    found = await lookup.present(world.b.engine, queue.key)
    empty = 0
    while found is not None and empty < EMPTY_RECEIVES:
        received = await world.b.receive(found)
        for delivery in received:
            bodies.append(delivery.message.body)
            await delete.delete(world.b.engine, found, delivery.handle)
        await world.b.engine.background.drain()
        empty = 0 if received else empty + 1
    if found is not None:
        counts = await world.b.counts(found)
        assert (counts.ready, counts.in_flight, counts.delayed) == (0, 0, 0)
        assert await world.b.stored(found) == []
    return bodies


def check(world: World, orders: list[str], dead: list[str]) -> None:
    got = Counter(orders + dead)
    for body in world.wanted:
        least = 0 if body in world.may_be_gone else 1
        most = 2 if body in world.may_be_twice else 1
        assert least <= got.pop(body, 0) <= most, f"{body}: {orders}, {dead}"
    assert not got
    if world.orders.settings.is_fifo:
        for bodies in (orders, dead):
            for group in "abcde":
                of_group = [body for body in bodies if body[0] == group]
                assert of_group == sorted(of_group)


async def lives_through(call: Call, suffix: str, wait: int, *, is_redis: bool, is_killed: bool) -> bool:
    """Returns False if the call has fewer awaits."""
    world = await make_world(suffix, is_redis)
    world.town.store.slow(*STORE_CALLS)
    world.town.cache.slow(*FailingCache.CALLS)
    cut = CutAt(call(world, world.a), wait, is_killed=is_killed)
    is_cut = await cut
    await goes_on(world, is_killed=is_killed)
    if is_cut:
        with contextlib.suppress(CqsError):
            await call(world, world.b)
        world.town.clock.advance_ms(3 * VISIBILITY_MS)
        await world.town.beat()
        while await revisibility.step(world.b.engine):
            pass
    check(world, await drained(world, world.orders), await drained(world, world.dead))
    return is_cut


CALLS: list[Any] = [
    sends, receives, polls, receives_from_the_store, deletes, changes_visibility, buries, moves_dead_letters, purges,
    deletes_the_queue,
]  # fmt: skip


@pytest.mark.parametrize("is_killed", [False, True], ids=["cancelled", "killed"])
@pytest.mark.parametrize("is_redis", [False, True], ids=["memory", "redis"])
@pytest.mark.parametrize("suffix", ["", ".fifo"], ids=["standard", "fifo"])
@pytest.mark.parametrize("call", CALLS)
async def test_a_call_may_be_cut_off_at_each_of_its_waits(
    call: Call, suffix: str, is_redis: bool, is_killed: bool
) -> None:
    wait = 1
    while await lives_through(call, suffix, wait, is_redis=is_redis, is_killed=is_killed):
        wait += 1
        assert wait < WAITS_MAX
    assert wait > 2
