"""Pages show whether store and cache answer, and never hang if those do."""

from __future__ import annotations

import asyncio

import pytest

from admin.console import About
from admin.health import Health
from admin.latest import LOOK_MS
from cqs.errors import StoreUnavailable
from tests.console.desk import Desk, make_desk
from tests.engine import Bench, make_bench, until


class Hanging:
    """A store call that hangs until it is released."""

    def __init__(self, bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
        self.asked = 0
        self.let_go = asyncio.Event()
        monkeypatch.setattr(bench.store, "highest_address", self._answer)

    async def _answer(self) -> int:
        self.asked += 1
        await self.let_go.wait()
        raise StoreUnavailable("no quorum")


async def test_a_store_that_hangs_does_not_hang_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = await make_bench()
    health = Health(bench.engine, wait_s=0, first_wait_s=0)
    store = Hanging(bench, monkeypatch)

    assert await health.problem() == ""
    bench.clock.advance_ms(LOOK_MS)
    assert await health.problem() == ""
    assert store.asked == 1

    store.let_go.set()
    await until(lambda: health._latest.known != "")
    assert "store does not answer: no quorum" in await health.problem()
    await health.end()


async def test_what_answers_at_once_is_told_at_once_and_asked_seldom(desk: Desk) -> None:
    desk.bench.store.fail("highest_address", StoreUnavailable("no quorum"))

    for _ in range(3):
        assert "no quorum" in (await desk.get("/")).words
    desk.bench.clock.advance_ms(LOOK_MS)
    assert "no quorum" not in (await desk.get("/")).words


async def test_what_ready_tells_is_on_the_overview_and_with_the_node() -> None:
    troubles: list[str] = []
    desk = await make_desk(about=About(troubles=lambda: troubles))
    assert "degraded" not in (await desk.get("/nodes")).words

    troubles.append("The disk of <b>/data</b> is full.")

    assert "The disk of <b>/data</b> is full." in (await desk.get("/")).words
    nodes = (await desk.get("/nodes")).words
    await desk.client.close()
    assert "The disk of <b>/data</b> is full." in nodes
    assert "degraded" in nodes


async def test_a_server_that_ends_waits_for_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = await make_bench()
    health = Health(bench.engine, wait_s=0, first_wait_s=0)
    Hanging(bench, monkeypatch)
    await health.problem()

    await health.end()
    await health.end()
