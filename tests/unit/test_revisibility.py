"""The revisibility worker's loop while the cache is away; what a step reveals is tested with the caches."""

from __future__ import annotations

import asyncio

import pytest
from structlog.testing import capture_logs

from cqs.service.revisibility import PAUSE_MAX_MS, run
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
