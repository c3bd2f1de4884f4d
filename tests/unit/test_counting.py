"""Counting detects a queue that the cache has lost and refills it, even if nobody uses the queue."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

from cqs.cache.interface import Residency, Shard, Sight
from cqs.errors import CacheUnavailable, StoreUnavailable
from cqs.queue import Queue
from cqs.service import counting
from cqs.service import queues as queues_service
from cqs.service.engine import shard_of
from cqs.service.peek import with_messages
from cqs.service.statistics import survey
from tests.engine import Bench, make_bench


async def lost(bench: Bench, name: str) -> Queue:
    """A queue of two messages that the cache has lost, like a flushed Redis."""
    queue = await bench.create(name)
    await bench.send(queue, "one", "two")
    await bench.cache.drop(shard_of(queue))
    return queue


async def ready(bench: Bench, queue: Queue) -> int:
    return (await bench.cache.counts(shard_of(queue))).ready


async def test_a_lost_queue_is_filled_when_somebody_asks_how_full_it_is() -> None:
    bench = await make_bench()
    queue = await lost(bench, "orders")

    await counting.counts(bench.engine, queue)
    await bench.engine.background.drain()

    assert (await counting.counts(bench.engine, queue)).ready == 2


async def test_how_full_an_empty_queue_is_costs_one_question() -> None:
    bench = await make_bench()
    queue = await bench.create("orders")
    asked: list[Shard] = []

    async def look(shards: list[Shard]) -> list[Sight | None]:
        asked.extend(shards)
        return await bench.cache.survey(shards)

    alike = replace(bench.engine, cache=SimpleNamespace(survey=look))

    assert (await counting.counts(alike, queue)).ready == 0
    assert asked == [shard_of(queue)]


async def test_lost_queues_that_nobody_uses_are_filled_when_they_are_sampled() -> None:
    bench = await make_bench()
    queues = [await lost(bench, f"q{number}") for number in range(5)]

    await survey(bench.engine, queues)
    await bench.engine.background.drain()

    assert [await ready(bench, queue) for queue in queues] == [2] * 5


async def test_a_lost_queue_is_among_those_that_hold_messages_and_a_purged_one_is_not() -> None:
    bench = await make_bench()
    gone, purged = await lost(bench, "orders"), await bench.create("purged")
    await bench.send(purged, "one")
    await queues_service.purge(bench.engine, purged)

    found, _ = await with_messages(bench.engine, gone.account, "", "", None)

    assert [queue.name for queue in found] == ["orders"]


async def test_a_queue_that_can_not_be_filled_may_hold_messages() -> None:
    bench = await make_bench()
    queue = await lost(bench, "orders")
    bench.cache.fail("begin_fill", CacheUnavailable("full"))

    assert await counting.holding(bench.engine, [queue]) == [queue]


async def test_a_lost_queue_keeps_the_depth_it_had() -> None:
    bench = await make_bench()
    queue = await bench.create("orders")
    await bench.send(queue, "one", "two")
    await survey(bench.engine, [queue])
    await bench.cache.drop(shard_of(queue))

    (sight,) = await survey(bench.engine, [queue])

    assert sight is not None and sight.state.residency is Residency.ABSENT
    depth = bench.engine.metrics.depths.get(queue.uid)
    assert depth is not None and depth.counts.ready == 2
    await bench.engine.background.drain()


async def test_one_that_can_not_be_filled_holds_up_no_other() -> None:
    bench = await make_bench()
    queues = [await lost(bench, f"q{number}") for number in range(3)]
    bench.cache.fail("begin_fill", CacheUnavailable("full"))

    await survey(bench.engine, queues)
    await bench.engine.background.drain()
    first = [await ready(bench, queue) for queue in queues]
    await survey(bench.engine, queues)
    await bench.engine.background.drain()

    assert first == [0, 2, 2]
    assert await ready(bench, queues[0]) == 2


async def test_filling_stops_when_it_fails_again_and_again() -> None:
    bench = await make_bench()
    queues = [await lost(bench, f"q{number}") for number in range(counting.FAILURES_MAX + 1)]
    bench.cache.fail("begin_fill", StoreUnavailable("away"), times=counting.FAILURES_MAX)

    await survey(bench.engine, queues)
    await bench.engine.background.drain()

    assert [await ready(bench, queue) for queue in queues] == [0] * len(queues)


async def test_a_server_without_room_is_left_to_the_queues_that_are_used() -> None:
    bench = await make_bench()
    queue = await lost(bench, "orders")
    cluster = bench.engine.cluster
    full = replace(cluster, short=lambda: [cluster.place(shard_of(queue))])

    counting.refill(replace(bench.engine, cluster=full), [queue])
    await bench.engine.background.drain()

    assert await ready(bench, queue) == 0


async def test_what_may_be_at_home_in_another_data_centre_is_left_there() -> None:
    bench = await make_bench()
    queue = await lost(bench, "orders")
    here: set[int] = set()
    homes = SimpleNamespace(is_known_here=lambda shard: shard.storage_id in here)
    cluster = SimpleNamespace(homes=homes)
    engine = SimpleNamespace(cluster=cluster)

    told = [counting.is_lost(engine, shard_of(queue), state) for state in Residency]  # type: ignore[arg-type]
    here.add(queue.storage_id)
    now = [counting.is_lost(engine, shard_of(queue), state) for state in Residency]  # type: ignore[arg-type]

    assert told == [False, False, False]
    assert dict(zip(Residency, now, strict=True)) == {
        Residency.ABSENT: True,
        Residency.INITIALIZING: False,
        Residency.READY: False,
    }
