"""What is past its retention is deleted for good, so no clock that jumped, a node's or its cache's, may decide."""

from __future__ import annotations

import msgspec

from cqs.service import repair, residency, revisibility
from cqs.service.engine import shard_of
from tests.cluster import Town
from tests.engine import Bench, make_bench
from tests.unit.test_cluster_clock import put_clock

MINUTE_MS, HOUR_MS = 60_000, 3_600_000


async def jumped(*, is_received: bool = False) -> tuple[Town, Bench]:
    """A node whose clock, and that of its cache, is an hour ahead since a message of a queue was sent that keeps its
    messages for a minute."""
    town = Town()
    a = await town.node("a")
    queue = await a.create("orders", retention_ms=MINUTE_MS)
    await a.send(queue, "one")
    if is_received:
        assert len(await a.receive(queue, visibility_ms=1_000)) == 1
    town.clock.advance_ms(HOUR_MS)
    put_clock(town, a, HOUR_MS)
    return town, a


async def bodies_in_store(node: Bench) -> list[str]:
    await node.engine.background.drain()
    (queue,) = node.engine.registry
    return [message.body for message in await node.stored(queue)]


async def test_a_fill_by_a_node_whose_clock_jumped_deletes_nothing() -> None:
    _, a = await jumped()
    (queue,) = a.engine.registry
    await a.cache.drop(shard_of(queue))

    await residency.fill(a.engine, queue)

    assert await bodies_in_store(a) == ["one"]
    assert (await a.counts(queue)).ready == 1


async def test_what_a_cache_whose_clock_jumped_drops_at_a_receive_stays_and_comes_back() -> None:
    town, a = await jumped()
    (queue,) = a.engine.registry

    assert await a.bodies(queue) == []

    assert await bodies_in_store(a) == ["one"]
    assert a.witness.of("expired") == []
    town.clock.advance_ms(-HOUR_MS)
    put_clock(town, a, 0)
    await repair.step(a.engine)
    assert await a.bodies(queue) == ["one"]


async def test_what_a_cache_whose_clock_jumped_drops_by_itself_stays_and_comes_back() -> None:
    town, a = await jumped(is_received=True)
    (queue,) = a.engine.registry

    await revisibility.step(a.engine)

    assert (await a.counts(queue)).in_flight == 0
    assert await bodies_in_store(a) == ["one"]
    town.clock.advance_ms(-HOUR_MS)
    put_clock(town, a, 0)
    await repair.step(a.engine)
    town.clock.advance_ms(1_000)
    await revisibility.step(a.engine)
    assert await a.bodies(queue) == ["one"]


async def test_what_is_old_by_both_clocks_is_deleted() -> None:
    town = Town()
    a = await town.node("a")
    queue = await a.create("orders", retention_ms=MINUTE_MS)
    await a.send(queue, "one")
    town.clock.advance_ms(HOUR_MS)

    assert await a.bodies(queue) == []
    assert await bodies_in_store(a) == []


async def test_a_moved_message_is_as_old_as_when_it_was_sent() -> None:
    bench = await make_bench()
    queue = await bench.create("orders", retention_ms=MINUTE_MS)
    await bench.send(queue, "moved")
    (message,) = await bench.stored(queue)
    bench.clock.advance_ms(MINUTE_MS)
    moved = msgspec.structs.replace(message, address=bench.engine.addresses.next())
    await bench.store.delete(queue, [message.address])
    await bench.store.append(queue, [moved])
    bench = await bench.restart()

    assert await bench.bodies(queue) == []
    assert await bodies_in_store(bench) == []
