"""The sweep: what is in the store alone comes back, and nothing else does."""

from __future__ import annotations

from collections.abc import AsyncIterator

from cqs.queue import Queue
from cqs.service.engine import shard_of
from cqs.service.sweep import SIGHT_MS, Sweep
from cqs.store.interface import Stored
from tests.cluster import Town
from tests.engine import Bench


async def no_pause(_: int) -> None:
    pass


async def one_that_was_never_put() -> tuple[Town, Bench, Queue]:
    """A queue with a message that only the store has, as after a crash between append and put."""
    town = Town()
    a = await town.node("a")
    await town.beat()
    queue = await a.create("orders")
    await a.send(queue, "there")
    put = town.cache.put

    async def crashed(*_: object) -> object:
        return (await town.cache.state(shard_of(queue))).residency

    town.cache.put = crashed  # type: ignore[method-assign, assignment]
    await a.send(queue, "lost")
    town.cache.put = put  # type: ignore[method-assign]
    return town, a, queue


async def test_what_only_the_store_has_is_put_back_at_the_second_sighting() -> None:
    town, a, queue = await one_that_was_never_put()
    sweep = Sweep()

    await sweep.sweep(a.engine, no_pause)
    town.clock.advance_ms(SIGHT_MS - 1)
    await town.beat()
    await sweep.sweep(a.engine, no_pause)
    assert (sweep.found, (await a.counts(queue)).ready) == (0, 1)
    town.clock.advance_ms(1)
    await sweep.sweep(a.engine, no_pause)

    assert (sweep.found, (await a.counts(queue)).ready) == (1, 2)
    assert sorted(await a.bodies(queue)) == ["lost", "there"]
    await sweep.sweep(a.engine, no_pause)
    assert sweep.found == 1


async def test_what_is_deleted_while_its_page_is_looked_at_does_not_come_back() -> None:
    town, a, queue = await one_that_was_never_put()
    sweep = Sweep()
    await sweep.sweep(a.engine, no_pause)
    town.clock.advance_ms(SIGHT_MS)
    await town.beat()
    scan = a.engine.cluster.deep_scan

    async def scan_then_deleted(queue: Queue) -> AsyncIterator[list[Stored]]:
        async for page in scan(queue):
            await town.store.delete(queue, [stored.address for stored in page])
            yield page

    object.__setattr__(a.engine.cluster, "deep_scan", scan_then_deleted)
    await sweep.sweep(a.engine, no_pause)

    assert "lost" not in await a.bodies(queue)


async def test_a_node_that_does_not_lead_sweeps_nothing() -> None:
    town, a, queue = await one_that_was_never_put()
    b = await town.node("b")
    sweep = Sweep()
    for _ in range(2):
        await sweep.sweep(b.engine, no_pause)
        town.clock.advance_ms(SIGHT_MS)
        await town.beat("a", "b")

    assert sweep.found == 0
    assert (await a.counts(queue)).ready == 1


async def test_messages_in_flight_and_delayed_are_no_finds() -> None:
    town = Town()
    a = await town.node("a")
    await town.beat()
    queue = await a.create("orders")
    delayed = await a.create("later", delay_ms=900_000)
    await a.send(queue, "one")
    await a.send(delayed, "two")
    await a.receive(queue, visibility_ms=10_000_000)
    sweep = Sweep()
    for _ in range(3):
        await sweep.sweep(a.engine, no_pause)
        town.clock.advance_ms(SIGHT_MS)
        await town.beat()

    assert sweep.found == 0
