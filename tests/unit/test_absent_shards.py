"""Leases while a shard is not in the cache: the store decides, as it does if the cache is unreachable."""

from __future__ import annotations

import pytest

from cqs.errors import InvalidParameterValue
from cqs.service import repair, residency
from cqs.service.delete import delete
from cqs.service.engine import shard_of
from cqs.service.visibility import change
from tests.engine import make_bench

SECOND_MS, HOUR_MS = 1_000, 3_600_000


@pytest.mark.parametrize("is_filling", [False, True])
async def test_a_consumer_keeps_its_message_while_the_cache_has_lost_it(is_filling: bool) -> None:
    bench = await make_bench()
    queue = await bench.create("orders", visibility_ms=SECOND_MS)
    await bench.send(queue, "one")
    (one,) = await bench.receive(queue)
    await bench.cache.drop(shard_of(queue))
    epoch = await bench.cache.begin_fill(shard_of(queue), queue.settings.retention_ms) if is_filling else None

    await change(bench.engine, queue, one.handle, HOUR_MS)

    if epoch is not None:
        await bench.cache.drop(shard_of(queue))
    await residency.fill(bench.engine, queue)
    await repair.step(bench.engine)
    bench.clock.advance_ms(SECOND_MS)
    await bench.cache.reveal(shard_of(queue), queue.settings.retention_ms, 100)
    assert await bench.bodies(queue) == []
    bench.clock.advance_ms(HOUR_MS)
    await bench.cache.reveal(shard_of(queue), queue.settings.retention_ms, 100)
    assert await bench.bodies(queue) == ["one"]


async def test_a_message_that_is_gone_can_not_be_kept() -> None:
    bench = await make_bench()
    queue = await bench.create("orders")
    await bench.send(queue, "one")
    (one,) = await bench.receive(queue)
    await delete(bench.engine, queue, one.handle)

    with pytest.raises(InvalidParameterValue, match="does not exist"):
        await change(bench.engine, queue, one.handle, HOUR_MS)


async def test_an_expired_handle_deletes_nothing_of_a_fifo_queue_that_the_cache_has_lost() -> None:
    bench = await make_bench()
    queue = await bench.create("orders.fifo", visibility_ms=SECOND_MS)
    await bench.send(queue, "one")
    (first,) = await bench.receive(queue)
    bench.clock.advance_ms(SECOND_MS)
    await bench.cache.reveal(shard_of(queue), queue.settings.retention_ms, 100)
    (second,) = await bench.receive(queue)
    await bench.cache.drop(shard_of(queue))

    with pytest.raises(InvalidParameterValue, match="expired"):
        await delete(bench.engine, queue, first.handle)
    assert [message.body for message in await bench.stored(queue)] == ["one"]

    await delete(bench.engine, queue, second.handle)
    assert await bench.stored(queue) == []
    await delete(bench.engine, queue, second.handle)
