"""Background work: a few heavy jobs at a time, and only one at a time with the same name."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine

import pytest

from cqs.errors import StoreUnavailable
from cqs.service import background as background_module
from cqs.service.background import TURNS_AT_ONCE, Background
from cqs.service.engine import shard_of
from tests.engine import make_bench, until


class Works:
    """A job that runs until the test ends it."""

    def __init__(self) -> None:
        self.running: list[str] = []
        self.done: list[str] = []
        self._gates: dict[str, asyncio.Event] = {}

    def make(self, name: str) -> Callable[[], Coroutine[object, object, None]]:
        async def work() -> None:
            gate = self._gates[name] = asyncio.Event()
            self.running.append(name)
            await gate.wait()
            self.running.remove(name)
            self.done.append(name)
            raise StoreUnavailable("made up by a test")

        return work

    def end(self, name: str) -> None:
        self._gates[name].set()


NAMES = [f"fill {number}" for number in range(TURNS_AT_ONCE + 2)]


async def test_a_few_run_at_a_time_and_the_others_in_their_turn() -> None:
    background, works = Background(), Works()
    for name in NAMES * 2:
        background.start_in_turn(name, works.make(name))
    await until(lambda: works.running == NAMES[:TURNS_AT_ONCE])

    works.end(NAMES[1])
    await until(lambda: NAMES[TURNS_AT_ONCE] in works.running)
    for name in [NAMES[0], *NAMES[2:TURNS_AT_ONCE]]:
        works.end(name)
    await until(lambda: works.running == NAMES[TURNS_AT_ONCE:])
    background.start_in_turn(NAMES[0], works.make(NAMES[0]))
    await until(lambda: NAMES[0] in works.running)

    for name in list(works.running):
        works.end(name)
    await background.drain()
    assert sorted(works.done) == sorted([*NAMES, NAMES[0]])


async def test_what_waits_for_its_turn_holds_no_stop_up() -> None:
    background, works = Background(), Works()
    for name in NAMES:
        background.start_in_turn(name, works.make(name))
    await until(lambda: len(works.running) == TURNS_AT_ONCE)
    for name in list(works.running):
        works.end(name)

    await background.drain()

    assert works.done == NAMES[:TURNS_AT_ONCE]


async def test_work_that_never_ends_is_not_waited_for_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background_module, "DRAIN_S_MAX", 0.0)
    background, works = Background(), Works()
    background.start_in_turn("hanging", works.make("hanging"))
    await until(lambda: works.running == ["hanging"])

    await background.drain()

    assert not background.is_busy


async def test_no_more_is_begun_that_somebody_waits_for_when_much_of_it_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(background_module, "TASKS_MAX", 2)
    background, works = Background(), Works()

    for name in ("first", "second", "third"):
        assert not await background.wait_for(name, works.make(name)(), 0.0)
    await until(lambda: works.running == ["first", "second"])

    for name in list(works.running):
        works.end(name)
    await background.drain()
    assert works.done == ["first", "second"]


async def test_a_cache_that_lost_all_queues_is_filled_a_few_at_a_time() -> None:
    bench = await make_bench()
    queues = [await bench.create(f"orders-{number}") for number in range(3 * TURNS_AT_ONCE)]
    for queue in queues:
        await bench.send(queue, "one")
        await bench.cache.drop(shard_of(queue))
    scan, scanning, most = bench.store.scan, 0, 0

    async def watched(queue: object) -> object:
        nonlocal scanning, most
        scanning += 1
        most = max(most, scanning)
        async for page in scan(queue):  # type: ignore[arg-type]
            await asyncio.sleep(0)
            yield page
        scanning -= 1

    bench.store.scan = watched  # type: ignore[method-assign, assignment]
    for queue in queues:
        await bench.receive(queue)
    await until(lambda: not bench.engine.background.is_busy)

    assert most == TURNS_AT_ONCE
    assert [(await bench.counts(queue)).in_flight for queue in queues] == [1] * len(queues)
