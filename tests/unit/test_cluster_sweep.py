"""The sweep: messages that only the store has become available again, and no others do."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
from structlog.testing import capture_logs

from cqs.errors import CacheUnavailable
from cqs.queue import Queue
from cqs.service.engine import shard_of
from cqs.service.membership import LIFE_MS
from cqs.service.sweep import LOOK_MS, PASS_MS, SIGHT_MS, SOON_MS, Sweep, run
from cqs.store.interface import Stored
from tests.cluster import Town
from tests.engine import Bench


async def no_pause(_: int) -> None:
    pass


async def one_that_was_never_put() -> tuple[Town, Bench, Queue]:
    """A queue with a message that only the store has, as after a crash between append and put."""
    town = Town()
    a = await town.node("a")
    await town.beat()
    queue = await a.create("orders")
    await a.send(queue, "there")
    put = town.cache.put

    async def crashed(*_: object) -> object:
        return (await town.cache.state(shard_of(queue))).residency

    town.cache.put = crashed  # type: ignore[method-assign, assignment]
    await a.send(queue, "lost")
    town.cache.put = put  # type: ignore[method-assign]
    return town, a, queue


async def test_what_only_the_store_has_is_put_back_at_the_second_sighting() -> None:
    town, a, queue = await one_that_was_never_put()
    sweep = Sweep()

    await sweep.sweep(a.engine, no_pause)
    town.clock.advance_ms(SIGHT_MS - 1)
    await town.beat()
    await sweep.sweep(a.engine, no_pause)
    assert (sweep.found, (await a.counts(queue)).ready) == (0, 1)
    town.clock.advance_ms(1)
    await sweep.sweep(a.engine, no_pause)

    assert (sweep.found, (await a.counts(queue)).ready) == (1, 2)
    assert sorted(await a.bodies(queue)) == ["lost", "there"]
    await sweep.sweep(a.engine, no_pause)
    assert sweep.found == 1


async def test_it_is_put_back_by_the_second_pass_though_that_comes_to_its_queue_sooner_than_the_first_did() -> None:
    town, a, _ = await one_that_was_never_put()
    sweep, scan, scans_take_ms = Sweep(), a.engine.cluster.deep_scan, [SOON_MS, 0]

    def slow(queue: Queue) -> AsyncIterator[list[Stored]]:
        town.clock.advance_ms(scans_take_ms.pop(0))
        return scan(queue)

    object.__setattr__(a.engine.cluster, "deep_scan", slow)
    await sweep.sweep(a.engine, no_pause)
    town.clock.advance_ms(PASS_MS - SOON_MS)
    await town.beat()
    await sweep.sweep(a.engine, no_pause)

    assert sweep.found == 1


async def test_what_a_node_that_died_never_put_is_put_back_by_one_pass() -> None:
    town, a, queue = await one_that_was_never_put()
    await town.node("b")
    await town.beat()
    sweep = Sweep()
    sweep.look_around(a.engine)
    await town.kill("b")
    paused: list[int] = []

    async def pause(ms: int) -> None:
        paused.append(ms)

    sweep.look_around(a.engine)
    await sweep.sweep(a.engine, pause)

    assert sorted(await a.bodies(queue)) == ["lost", "there"]
    assert (sweep.found, sweep.is_hurried, paused[-1]) == (1, False, SOON_MS)


async def test_what_is_put_or_deleted_before_it_is_looked_at_again_is_no_find() -> None:
    town, a, queue = await one_that_was_never_put()
    deleted = [stored.address async for page in town.store.scan(queue) for stored in page]
    sweep = Sweep()
    sweep.is_hurried = True

    async def pause(ms: int) -> None:
        if ms == SOON_MS:
            await town.store.delete(queue, deleted)

    await sweep.sweep(a.engine, pause)

    assert (sweep.found, (await a.counts(queue)).ready) == (0, 1)


async def test_a_pass_that_fails_leaves_the_hurry_to_the_next_one() -> None:
    town, a, queue = await one_that_was_never_put()
    sweep = Sweep()
    sweep.is_hurried = True
    lookup = town.cache.lookup

    async def unavailable(*_: object) -> object:
        raise CacheUnavailable("away")

    town.cache.lookup = unavailable  # type: ignore[method-assign, assignment]
    await sweep.sweep(a.engine, no_pause)
    town.cache.lookup = lookup  # type: ignore[method-assign]
    assert sweep.is_hurried
    await sweep.sweep(a.engine, no_pause)

    assert (sweep.found, (await a.counts(queue)).ready) == (1, 2)


async def test_a_node_that_is_back_before_its_life_ran_out_has_died_all_the_same() -> None:
    town, a, _ = await one_that_was_never_put()
    await town.node("b")
    await town.beat()
    sweep = Sweep()
    sweep.look_around(a.engine)
    assert not sweep.is_hurried

    town.clock.advance_ms(1)
    await town.node("b")
    await town.beat()
    sweep.look_around(a.engine)

    assert sweep.is_hurried


async def test_a_loop_of_sweeps_looks_around_and_sweeps_once_a_minute_or_at_once_when_a_node_is_gone() -> None:
    town, a, _ = await one_that_was_never_put()
    await town.node("b")
    await town.beat()
    swept: list[int] = []
    began_ms = town.clock.now_ms()
    scan = a.engine.cluster.deep_scan

    def noted(queue: Queue) -> AsyncIterator[list[Stored]]:
        swept.append((town.clock.now_ms() - began_ms) // SOON_MS)
        return scan(queue)

    async def pause(ms: int) -> None:
        if ms < LOOK_MS:
            return
        town.clock.advance_ms(ms)
        if town.clock.now_ms() - began_ms > PASS_MS + 5 * SOON_MS:
            raise asyncio.CancelledError
        if "b" in town.nodes and town.clock.now_ms() - began_ms > PASS_MS // 2:
            del town.nodes["b"]
        await town.beat()

    object.__setattr__(a.engine.cluster, "deep_scan", noted)
    with pytest.raises(asyncio.CancelledError):
        await run(a.engine, pause)

    assert len(swept) == 2
    assert swept[0] == 0
    assert PASS_MS // 2 < swept[1] * SOON_MS <= PASS_MS // 2 + LIFE_MS + 2 * SOON_MS


async def test_passes_that_fail_are_told_once_an_outage() -> None:
    town, a, _ = await one_that_was_never_put()
    lookup = town.cache.lookup
    passes: list[bool] = []

    async def sometimes(*arguments: object) -> object:
        passes.append(len(passes) not in (3, 4))
        if passes[-1]:
            raise CacheUnavailable("nodes with another list of Redis servers use it")
        return await lookup(*arguments)  # type: ignore[arg-type]

    async def pause(ms: int) -> None:
        town.clock.advance_ms(ms)
        await town.beat()
        if len(passes) > 8:
            raise asyncio.CancelledError

    town.cache.lookup = sometimes  # type: ignore[method-assign, assignment]
    with capture_logs() as logs, pytest.raises(asyncio.CancelledError):
        await run(a.engine, pause)

    given_up = [line["log_level"] for line in logs if line["event"] == "sweep_given_up"]
    assert passes.index(False) == 3 and passes[-1]
    assert given_up == ["warning", "warning"]


async def test_what_is_deleted_while_its_page_is_looked_at_does_not_come_back() -> None:
    town, a, queue = await one_that_was_never_put()
    sweep = Sweep()
    await sweep.sweep(a.engine, no_pause)
    town.clock.advance_ms(SIGHT_MS)
    await town.beat()
    scan = a.engine.cluster.deep_scan

    async def scan_then_deleted(queue: Queue) -> AsyncIterator[list[Stored]]:
        async for page in scan(queue):
            await town.store.delete(queue, [stored.address for stored in page])
            yield page

    object.__setattr__(a.engine.cluster, "deep_scan", scan_then_deleted)
    await sweep.sweep(a.engine, no_pause)

    assert "lost" not in await a.bodies(queue)


async def test_a_node_that_does_not_lead_sweeps_nothing() -> None:
    town, a, queue = await one_that_was_never_put()
    b = await town.node("b")
    sweep = Sweep()
    for _ in range(2):
        await sweep.sweep(b.engine, no_pause)
        town.clock.advance_ms(SIGHT_MS)
        await town.beat("a", "b")

    assert sweep.found == 0
    assert (await a.counts(queue)).ready == 1


async def test_messages_in_flight_and_delayed_are_no_finds() -> None:
    town = Town()
    a = await town.node("a")
    await town.beat()
    queue = await a.create("orders")
    delayed = await a.create("later", delay_ms=900_000)
    await a.send(queue, "one")
    await a.send(delayed, "two")
    await a.receive(queue, visibility_ms=10_000_000)
    sweep = Sweep()
    for _ in range(3):
        await sweep.sweep(a.engine, no_pause)
        town.clock.advance_ms(SIGHT_MS)
        await town.beat()

    assert sweep.found == 0
