"""Expired messages are deleted for good, so a clock that jumped, a node's or its cache's, must not decide expiry."""

from __future__ import annotations

import random
from collections.abc import Sequence

import msgspec
import pytest

from cqs.errors import StoreUnavailable
from cqs.queue import Queue
from cqs.service import expiry, repair, residency, revisibility
from cqs.service.engine import shard_of
from cqs.service.expiry import DELETED_AT_ONCE, SKEW_MS_MAX
from cqs.testing.clock import ManualClock
from tests.cluster import Town
from tests.engine import BODY_BUDGET_BYTES, Bench, FailingCache, make_bench

MINUTE_MS, HOUR_MS = 60_000, 3_600_000


class World:
    """A node with the clock `here` and one message, just sent, in a queue with a retention of one minute. Its cache has
    another clock."""

    def __init__(self, town: Town, node: Bench, queue: Queue, cache_clock: ManualClock) -> None:
        self.node = node
        self.queue = queue
        self.cache_clock = cache_clock
        self.here = town.clock

    def put_store(self, ahead_ms: int) -> None:
        """Sets the store's clock; the node is ahead of it by that."""

        async def store_ms() -> int:
            return self.here.now_ms() - ahead_ms

        self.node.engine.cluster.coordination.now_ms = store_ms  # type: ignore[method-assign]

    async def stored(self) -> list[str]:
        await self.node.engine.background.drain()
        return [message.body for message in await self.node.stored(self.queue)]


async def world() -> World:
    town, cache_clock = Town(), ManualClock()
    town.cache = FailingCache(cache_clock, random.Random(0), BODY_BUDGET_BYTES)
    node = await town.node("a")
    queue = await node.create("orders", retention_ms=MINUTE_MS)
    await node.send(queue, "one")
    return World(town, node, queue, cache_clock)


async def test_what_could_not_be_deleted_is_not_told_to_have_expired() -> None:
    bench = await make_bench()
    queue = await bench.create("orders", retention_ms=MINUTE_MS)
    await bench.send(queue, "one")
    (message,) = await bench.stored(queue)
    bench.store.fail("delete", StoreUnavailable("the disk is full"))

    with pytest.raises(StoreUnavailable):
        await expiry.erase(bench.engine, queue, [message.address])

    assert bench.witness.of("expired") == []


async def test_a_fill_by_a_node_whose_clock_jumped_deletes_nothing() -> None:
    one = await world()
    one.here.advance_ms(HOUR_MS)
    one.put_store(HOUR_MS)
    await one.node.cache.drop(shard_of(one.queue))

    await residency.fill(one.node.engine, one.queue)

    assert await one.stored() == ["one"]
    assert (await one.node.counts(one.queue)).ready == 1


@pytest.mark.parametrize("is_received", [False, True], ids=["at a receive", "by itself"])
async def test_what_a_cache_whose_clock_jumped_drops_stays_and_comes_back(is_received: bool) -> None:
    one = await world()
    if is_received:
        assert await one.node.receive(one.queue, visibility_ms=1_000)
    one.cache_clock.advance_ms(HOUR_MS)

    await revisibility.step(one.node.engine)
    assert await one.node.bodies(one.queue) == []

    assert await one.stored() == ["one"]
    assert one.node.witness.of("expired") == []
    one.cache_clock.advance_ms(-HOUR_MS)
    await repair.step(one.node.engine)
    for clock in (one.here, one.cache_clock):
        clock.advance_ms(1_000)
    await revisibility.step(one.node.engine)
    assert await one.node.bodies(one.queue) == ["one"]


@pytest.mark.parametrize(("cache_ms", "here_ms"), [(HOUR_MS, HOUR_MS), (0, HOUR_MS)])
async def test_what_is_over_by_the_node_and_not_by_the_store_is_left_where_it_is(cache_ms: int, here_ms: int) -> None:
    one = await world()
    one.here.advance_ms(here_ms)
    one.put_store(here_ms)
    one.cache_clock.advance_ms(cache_ms)

    await one.node.bodies(one.queue)

    assert await one.stored() == ["one"]
    assert not len(one.node.engine.dirt)


async def test_clocks_that_differ_a_little_make_nothing_dirty() -> None:
    one = await world()
    one.here.advance_ms(MINUTE_MS - SKEW_MS_MAX)
    one.cache_clock.advance_ms(MINUTE_MS)

    assert await one.node.bodies(one.queue) == []

    assert await one.stored() == []
    assert not len(one.node.engine.dirt)


async def test_what_is_old_by_all_clocks_is_deleted() -> None:
    one = await world()
    one.here.advance_ms(HOUR_MS)
    one.cache_clock.advance_ms(HOUR_MS)

    assert await one.node.bodies(one.queue) == []

    assert await one.stored() == []
    assert one.node.witness.of("expired")


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
    await bench.engine.background.drain()
    assert await bench.stored(queue) == []


@pytest.mark.parametrize("is_filled", [False, True], ids=["dropped by the cache", "found by a fill"])
async def test_many_that_expire_at_once_are_deleted_a_few_at_a_time(is_filled: bool) -> None:
    bench = await make_bench()
    queue = await bench.create("orders", retention_ms=MINUTE_MS)
    await bench.send(queue, *[f"{number}" for number in range(3 * DELETED_AT_ONCE)])
    bench.clock.advance_ms(MINUTE_MS)
    bench.store.slow("delete")
    delete, deleting, most = bench.store.delete, 0, 0

    async def watched(queue: Queue, addresses: Sequence[int]) -> None:
        nonlocal deleting, most
        deleting += len(addresses)
        most = max(most, deleting)
        await delete(queue, addresses)
        deleting -= len(addresses)

    bench.store.delete = watched  # type: ignore[method-assign]
    if is_filled:
        await bench.cache.drop(shard_of(queue))
        await residency.fill(bench.engine, queue)
    while await revisibility.step(bench.engine):
        pass
    await bench.engine.background.drain()

    assert most == DELETED_AT_ONCE
    assert await bench.stored(queue) == []
