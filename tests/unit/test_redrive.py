"""Dead letters while the store fails."""

from __future__ import annotations

import asyncio

import pytest

from cqs.cache.interface import DEAD_BATCH_MAX
from cqs.errors import CacheUnavailable, OutcomeUnknown, StoreUnavailable
from cqs.service import redrive
from cqs.service.engine import shard_of
from tests.cluster import Town
from tests.engine import Bench, make_bench, until
from tests.unit.dead_letters import one_pair

GIVE_UP_S = 60


@pytest.fixture
def is_back(monkeypatch: pytest.MonkeyPatch) -> asyncio.Event:
    """An event; when it is set, failed moves are retried. Receives wait only 10 ms for a move."""
    event = asyncio.Event()

    async def pause(_: int) -> None:
        await event.wait()

    monkeypatch.setattr(redrive, "pause_ms", pause)
    monkeypatch.setattr(redrive, "BURY_S", 0.01)
    return event


def silent(bench: Bench) -> None:
    """Makes the outcome of the next move, and of its retry, unknown."""
    bench.store.fail("move", OutcomeUnknown("no answer"), times=2)


async def test_no_receive_waits_for_a_store_that_does_not_say_what_became_of_a_move(is_back: asyncio.Event) -> None:
    bench = await make_bench()
    orders, dead = await one_pair(bench)
    await bench.send(orders, "poison")
    await bench.receive(orders, visibility_ms=0)
    await bench.send(orders, "good")
    move = bench.store.move
    silent(bench)

    async with asyncio.timeout(GIVE_UP_S):
        assert await bench.bodies(orders) == ["good"]
    bench.store.fail("move", StoreUnavailable("still away"))
    is_back.set()
    await until(lambda: not bench.engine.background.is_busy)

    bench.store.move = move  # type: ignore[method-assign]
    assert await bench.bodies(dead) == ["poison"]


async def test_a_receive_takes_no_more_dead_letters_while_a_move_takes_its_time(is_back: asyncio.Event) -> None:
    bench = await make_bench()
    orders, _ = await one_pair(bench)
    await bench.send(orders, *map(str, range(DEAD_BATCH_MAX + 1)))
    while await bench.receive(orders):
        pass
    bench.clock.advance_ms(orders.settings.visibility_ms)
    await bench.cache.reveal(shard_of(orders), orders.settings.retention_ms, 1_000)
    silent(bench)

    async with asyncio.timeout(GIVE_UP_S):
        assert await bench.bodies(orders) == []

    assert (await bench.counts(orders)).ready == 1
    is_back.set()
    await until(lambda: not bench.engine.background.is_busy)


async def test_a_dead_letter_that_is_gone_by_then_is_no_dirt_of_a_cache_that_fails() -> None:
    town = Town()
    bench = await town.node("a")
    await town.beat()
    orders, dead = await one_pair(bench)
    await bench.send(orders, "poison")
    (poison,) = await bench.receive(orders, visibility_ms=0)
    await bench.store.delete(orders, [poison.message.address])
    town.cache.fail("put", CacheUnavailable("by the test"))

    assert await bench.bodies(orders) == []

    assert await bench.bodies(dead) == []
    assert not len(bench.engine.dirt)
