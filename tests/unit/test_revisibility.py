"""The revisibility worker while a cache is unreachable or a queue unknown. Tests of the caches cover what it
reveals."""

from __future__ import annotations

import asyncio

import pytest
from structlog.testing import capture_logs

from cqs.cache.interface import VESTING_LEASE_MS
from cqs.errors import CacheUnavailable
from cqs.service.engine import shard_of
from cqs.service.revisibility import PAUSE_MAX_MS, run, step
from tests.cluster import Town
from tests.engine import make_bench

STEPS_AWAY = 100


async def test_an_outage_is_told_once_when_it_begins_and_once_when_it_is_over() -> None:
    bench = await make_bench()
    paused: list[int] = []

    async def pause(ms: int) -> None:
        paused.append(ms)
        if len(paused) in (1, 1 + 2 * STEPS_AWAY):
            bench.cache.cut()
        if len(paused) in (1 + STEPS_AWAY, 1 + 3 * STEPS_AWAY):
            bench.cache.mend()
        if len(paused) == 4 * STEPS_AWAY:
            raise asyncio.CancelledError

    with capture_logs() as logs, pytest.raises(asyncio.CancelledError):
        await run(bench.engine, pause)

    assert [line["event"] for line in logs] == ["revisibility_failed", "revisibility_resumed"] * 2
    assert logs[0]["reason"] == "cut off by the test"
    assert set(paused) == {PAUSE_MAX_MS}


async def test_a_queue_that_a_node_has_not_heard_of_yet_keeps_its_shard() -> None:
    town = Town()
    a, b = await town.node("a"), await town.node("b")
    queue = await a.create("orders")
    await a.send(queue, "one", "two")
    assert len(await a.receive(queue, 1, visibility_ms=1_000)) == 1
    before = await town.cache.state(shard_of(queue))
    town.clock.advance_ms(1_000)

    await step(b.engine)

    assert await town.cache.state(shard_of(queue)) == before
    town.clock.advance_ms(VESTING_LEASE_MS)
    await step(a.engine)
    assert (await a.counts(queue)).ready == 2


async def test_a_shard_that_fails_holds_up_no_other() -> None:
    bench = await make_bench()
    orders, jobs = await bench.create("orders"), await bench.create("jobs")
    for queue in (orders, jobs):
        await bench.send(queue, "one")
        assert await bench.receive(queue, visibility_ms=1_000)
    bench.clock.advance_ms(1_000)
    bench.cache.fail("reveal", CacheUnavailable("one server is away"))

    with pytest.raises(CacheUnavailable):
        await step(bench.engine)

    assert sorted([(await bench.counts(queue)).ready for queue in (orders, jobs)]) == [0, 1]
