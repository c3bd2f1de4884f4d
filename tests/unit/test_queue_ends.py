"""Concurrent creates and purges, the 60 seconds between purges, and the deletion of a queue."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import msgspec
import pytest

from cqs.cache.interface import Residency, Shard
from cqs.errors import (
    CacheUnavailable,
    OutcomeUnknown,
    PurgeQueueInProgress,
    QueueDoesNotExist,
    StoreUnavailable,
    UnsupportedOperation,
)
from cqs.service import queues
from cqs.service.engine import Tuning, shard_of
from cqs.service.receive import ReceiveRequest, receive
from tests.engine import make_bench, until

LAX = Tuning(is_purge_wait_on=False)


async def test_lost_race_to_create_leaves_no_shard_behind() -> None:
    bench = await make_bench()
    bench.store.slow("create")
    begun: list[Shard] = []
    begin_fill = bench.cache.begin_fill

    async def begin_and_tell(shard: Shard, retention_ms: int) -> int | None:
        begun.append(shard)
        return await begin_fill(shard, retention_ms)

    bench.cache.begin_fill = begin_and_tell  # type: ignore[method-assign]
    queue, _ = await asyncio.gather(bench.create("orders"), bench.create("orders"))

    (lost,) = [shard for shard in begun if shard != shard_of(queue)]
    assert (await bench.cache.state(lost)).residency is Residency.ABSENT


async def test_purge_waits_sixty_seconds() -> None:
    bench = await make_bench()
    queue = await bench.create("orders")
    await queues.purge(bench.engine, queue)

    bench.clock.advance_ms(59_999)
    with pytest.raises(PurgeQueueInProgress) as raised:
        await queues.purge(bench.engine, queue)
    assert str(raised.value) == "Only one PurgeQueue operation on orders is allowed every 60 seconds."

    bench.clock.advance_ms(1)
    await queues.purge(bench.engine, queue)
    assert bench.engine.registry.find(queue.key).generation == 2


async def test_purge_wait_outlives_a_restart() -> None:
    bench = await make_bench()
    queue = await bench.create("orders")
    await queues.purge(bench.engine, queue)

    bench = await bench.restart()

    with pytest.raises(PurgeQueueInProgress):
        await queues.purge(bench.engine, bench.engine.registry.find(queue.key))


async def test_purge_wait_can_be_turned_off() -> None:
    bench = await make_bench(tuning=LAX)
    queue = await bench.create("orders")

    await queues.purge(bench.engine, queue)
    await queues.purge(bench.engine, queue)

    assert bench.engine.registry.find(queue.key).generation == 2


@pytest.mark.parametrize(
    ("end", "error"), [(queues.purge, "PurgeQueueInProgress"), (queues.delete, "QueueDoesNotExist")]
)
async def test_two_ends_at_once_are_one_and_an_error(end: Callable[..., Awaitable[None]], error: str) -> None:
    bench = await make_bench()
    queue = await bench.create("orders")
    bench.slow()

    results = await asyncio.gather(end(bench.engine, queue), end(bench.engine, queue), return_exceptions=True)

    assert sorted(type(result).__name__ for result in results) == ["NoneType", error]
    after = bench.engine.registry.get(queue.key)
    assert after is None or after.generation == 1


async def test_two_purges_at_once_leave_a_working_queue() -> None:
    bench = await make_bench(tuning=LAX)
    queue = await bench.create("orders")
    await bench.send(queue, "before")
    bench.slow()

    await asyncio.gather(queues.purge(bench.engine, queue), queues.purge(bench.engine, queue))
    purged = bench.engine.registry.find(queue.key)
    await bench.send(purged, "after")

    assert await bench.bodies(purged) == ["after"]


async def test_purge_with_a_lost_answer_rules_new_messages() -> None:
    bench = await make_bench()
    queue = await bench.create("orders")
    bench.store.fail("save", OutcomeUnknown("lost answer"), is_done=True)

    await queues.purge(bench.engine, queue)
    await bench.send(bench.engine.registry.find(queue.key), "after")
    bench = await bench.restart()

    assert await bench.bodies(bench.engine.registry.find(queue.key)) == ["after"]


async def test_purge_that_the_store_refused_purged_nothing() -> None:
    bench = await make_bench()
    queue = await bench.create("orders")
    await bench.send(queue, "one")
    bench.store.fail("save", StoreUnavailable("disk full"))

    with pytest.raises(StoreUnavailable):
        await queues.purge(bench.engine, queue)

    assert await bench.bodies(bench.engine.registry.find(queue.key)) == ["one"]


async def test_generations_end_before_they_would_meet_another_queue() -> None:
    bench = await make_bench(tuning=LAX)
    queue = await bench.create("orders")
    worn = msgspec.structs.replace(queue, version=1, generation=queues.GENERATION_MAX)
    await bench.store.save(worn)
    bench.engine.registry.put(worn)

    with pytest.raises(UnsupportedOperation, match="create it again"):
        await queues.purge(bench.engine, worn)


async def test_purge_empties_the_memory_of_deduplication() -> None:
    bench = await make_bench()
    queue = await bench.create("orders.fifo", is_content_dedup=True)
    await bench.send_same(queue, "one")
    await queues.purge(bench.engine, queue)

    purged = bench.engine.registry.find(queue.key)
    await bench.send_same(purged, "one")

    assert await bench.bodies(purged) == ["one"]


async def test_purge_of_a_deleted_queue_says_so() -> None:
    bench = await make_bench()
    queue = await bench.create("orders")
    await queues.delete(bench.engine, queue)

    with pytest.raises(QueueDoesNotExist):
        await queues.purge(bench.engine, queue)
    namesake = await bench.create("orders")
    with pytest.raises(QueueDoesNotExist):
        await queues.purge(bench.engine, queue)
    assert bench.engine.registry.find(queue.key) == namesake


async def test_deleted_queue_is_gone_everywhere() -> None:
    bench = await make_bench()
    queue = await bench.create("orders")
    await bench.send(queue, "one")

    await queues.delete(bench.engine, queue)

    assert bench.engine.registry.get(queue.key) is None
    assert await bench.store.queues() == []
    assert await bench.stored(queue) == []
    assert (await bench.cache.state(shard_of(queue))).residency is Residency.ABSENT
    assert len((await bench.restart()).engine.registry) == 0


async def test_delete_ends_waiting_receives() -> None:
    bench = await make_bench()
    queue = await bench.create("orders")
    poll = asyncio.create_task(receive(bench.engine, queue, ReceiveRequest(wait_ms=20_000), lambda: True))
    await until(lambda: bench.engine.waiters.count(queue.uid) == 1)

    await queues.delete(bench.engine, queue)

    with pytest.raises(QueueDoesNotExist):
        await poll


async def test_delete_leaves_a_namesake_alone() -> None:
    bench = await make_bench()
    queue = await bench.create("orders")
    await queues.delete(bench.engine, queue)
    namesake = await bench.create("orders")
    await bench.send(namesake, "one")

    with pytest.raises(QueueDoesNotExist):
        await queues.delete(bench.engine, queue)

    assert await bench.bodies(namesake) == ["one"]


async def test_delete_drops_the_present_generation_also_with_an_old_view() -> None:
    bench = await make_bench()
    queue = await bench.create("orders")
    await queues.purge(bench.engine, queue)
    purged = bench.engine.registry.find(queue.key)

    await queues.delete(bench.engine, queue)

    assert (await bench.cache.state(shard_of(purged))).residency is Residency.ABSENT


async def test_delete_does_not_need_the_cache() -> None:
    bench = await make_bench()
    queue = await bench.create("orders")
    bench.cache.fail("drop", CacheUnavailable("down"))

    await queues.delete(bench.engine, queue)

    assert bench.engine.registry.get(queue.key) is None
