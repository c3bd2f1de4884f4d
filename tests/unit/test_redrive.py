"""Dead letters while the store fails."""

from __future__ import annotations

import asyncio

import pytest

from cqs.errors import OutcomeUnknown, StoreUnavailable
from cqs.service import redrive
from tests.engine import make_bench, until
from tests.unit.dead_letters import one_pair


async def test_no_receive_waits_for_a_store_that_does_not_say_what_became_of_a_move(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bench = await make_bench()
    orders, dead = await one_pair(bench)
    is_back = asyncio.Event()

    async def pause(_: int) -> None:
        await is_back.wait()

    monkeypatch.setattr(redrive, "pause_ms", pause)
    monkeypatch.setattr(redrive, "BURY_S", 0.01)
    await bench.send(orders, "poison")
    await bench.receive(orders, visibility_ms=0)
    await bench.send(orders, "good")
    move = bench.store.move
    bench.store.fail("move", OutcomeUnknown("no answer"), times=2)

    async with asyncio.timeout(5):
        assert await bench.bodies(orders) == ["good"]
    bench.store.fail("move", StoreUnavailable("still away"))
    is_back.set()
    await until(lambda: not bench.engine.background.is_busy)

    bench.store.move = move  # type: ignore[method-assign]
    assert await bench.bodies(dead) == ["poison"]
