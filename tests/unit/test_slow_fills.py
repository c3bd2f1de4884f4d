"""A fill for which the store takes longer to return a page than a shard waits for its filler."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence

import pytest

from cqs.cache.entry import Entry
from cqs.cache.interface import Residency, Shard
from cqs.errors import ServiceUnavailable, StoreUnavailable
from cqs.queue import Queue
from cqs.service import move_tasks, residency
from cqs.service.engine import shard_of
from cqs.store.interface import Stored
from tests.engine import Bench, make_bench
from tests.unit.dead_letters import newest, one_pair

PATIENCE_S = 90


class SlowStore:
    """Delays the first page of the next scan until the fill has sent `signs` signs of life."""

    def __init__(self, bench: Bench, signs: int, monkeypatch: pytest.MonkeyPatch) -> None:
        self.said = 0
        self.is_read, self.is_keeping = asyncio.Event(), asyncio.Event()
        scan, fill = bench.store.scan, bench.cache.fill

        async def slow(queue: Queue) -> AsyncIterator[list[Stored]]:
            await self.is_read.wait()
            async for page in scan(queue):
                yield page

        async def counted(shard: Shard, epoch: int, entries: Sequence[Entry], *, is_last: bool) -> bool:
            if not entries and not is_last:
                self.said += 1
                self.is_keeping.set()
            if self.said == signs:
                self.is_read.set()
            return await fill(shard, epoch, entries, is_last=is_last)

        monkeypatch.setattr(residency, "KEEP_S", 0.001)
        monkeypatch.setattr(bench.store, "scan", slow)
        monkeypatch.setattr(bench.cache, "fill", counted)


async def test_it_says_that_it_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = await make_bench()
    queue = await bench.create("orders")
    await bench.send(queue, "one", "two")
    await bench.cache.drop(shard_of(queue))
    store = SlowStore(bench, 5, monkeypatch)

    async with asyncio.timeout(PATIENCE_S):
        await residency.fill(bench.engine, queue)

    assert store.said >= 5
    assert await bench.bodies(queue) == ["one", "two"]


async def test_it_ends_when_its_shard_is_another_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = await make_bench()
    queue = await bench.create("orders")
    await bench.send(queue, "one")
    await bench.cache.drop(shard_of(queue))
    store = SlowStore(bench, 1_000_000, monkeypatch)
    filling = asyncio.ensure_future(residency.fill(bench.engine, queue))
    async with asyncio.timeout(PATIENCE_S):
        await store.is_keeping.wait()
        await bench.cache.drop(shard_of(queue))
        epoch = await bench.cache.begin_fill(shard_of(queue), queue.settings.retention_ms)
        await filling

    assert (await bench.cache.state(shard_of(queue))).epoch == epoch
    assert (await bench.cache.state(shard_of(queue))).residency is Residency.INITIALIZING


async def test_no_move_task_begins_with_the_part_that_is_filled() -> None:
    bench = await make_bench()
    _, dead = await one_pair(bench, "one", "two")
    await bench.cache.drop(shard_of(dead))
    await bench.cache.begin_fill(shard_of(dead), dead.settings.retention_ms)

    with pytest.raises(ServiceUnavailable, match="The messages of dead are still being counted"):
        await move_tasks.start(bench.engine, dead.arn, "", 0)
    await bench.cache.drop(shard_of(dead))
    await move_tasks.start(bench.engine, dead.arn, "", 0)

    assert newest(bench, dead).to_move == 2


@pytest.mark.parametrize("pages", [0, 1])
async def test_a_fill_that_failed_is_begun_anew(pages: int) -> None:
    bench = await make_bench()
    queue = await bench.create("orders.fifo")
    await bench.send(queue, "one", "two")
    await bench.cache.drop(shard_of(queue))
    scan = bench.store.scan

    async def broken(queue: Queue) -> AsyncIterator[list[Stored]]:
        bench.store.scan = scan  # type: ignore[method-assign]
        if pages:
            yield await anext(scan(queue))
        raise StoreUnavailable("by the test")

    bench.store.scan = broken  # type: ignore[method-assign]
    for _ in range(2):
        assert await bench.bodies(queue) == []
        await bench.engine.background.drain()

    assert await bench.bodies(queue) == ["one", "two"]
