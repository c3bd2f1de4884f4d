"""How often repair is retried: at once while the cache is unreachable, with backoff while it rejects everything."""

from __future__ import annotations

import asyncio

import pytest

from cqs.cache.interface import Residency
from cqs.errors import CacheUnavailable
from cqs.service import repair
from cqs.service.engine import shard_of
from tests.engine import make_bench


async def test_a_full_cache_is_not_asked_over_and_over_to_take_what_has_to_be_read_from_the_store_each_time() -> None:
    bench = await make_bench()
    queue = await bench.create("orders")
    bench.cache.fail("put", CacheUnavailable("OOM"), times=1_000)
    await bench.send(queue, "one")
    waits: list[int] = []

    async def pause(ms: int) -> None:
        waits.append(ms)
        if len(waits) == 10:
            del bench.cache.put
        if len(waits) == 12:
            raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        await repair.run(bench.engine, pause)

    assert waits[0] == waits[-1] == repair.PAUSE_MS
    assert waits[-3:-1] == [repair.PAUSE_MS_MAX, repair.PAUSE_MS]
    assert not len(bench.engine.dirt)


async def test_what_a_cache_with_room_did_not_confirm_leaves_the_fifo_queue_where_it_is() -> None:
    bench = await make_bench()
    queue = await bench.create("orders.fifo", is_fifo=True)
    await bench.send(queue, "one", group="g")
    bench.cache.fail("put", CacheUnavailable("no answer for 1 s"), times=2)
    await bench.send(queue, "two", group="g")

    await repair.step(bench.engine)

    assert (await bench.cache.state(shard_of(queue))).residency is Residency.READY


async def test_a_cache_that_is_away_is_looked_for_all_the_time() -> None:
    bench = await make_bench()
    queue = await bench.create("orders")
    bench.cache.cut()
    await bench.send(queue, "one")
    waits: list[int] = []

    async def pause(ms: int) -> None:
        waits.append(ms)
        if len(waits) == 10:
            raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        await repair.run(bench.engine, pause)

    assert set(waits) == {repair.PAUSE_MS}
