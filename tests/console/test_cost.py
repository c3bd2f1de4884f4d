"""The cost of pages: they query only what they show, and do not repeat expensive queries at each refresh."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from typing import Any

import pytest

from admin.queue_list import PER_PAGE
from admin.thrift import KEPT_MAX, PAUSE, Thrift
from cqs.queue import Queue, Redrive
from tests.console.desk import Desk
from tests.engine import ACCOUNT


class Slow:
    """A query that takes a given time on the loop's clock, and counts how often it was made."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, takes_s: float) -> None:
        self.asked = 0
        self.now_s = 1_000.0
        self._takes_s = takes_s
        monkeypatch.setattr(asyncio.get_running_loop(), "time", lambda: self.now_s)

    async def find_out(self) -> int:
        self.asked += 1
        self.now_s += self._takes_s
        return self.asked


async def test_a_dear_answer_is_kept_in_proportion_to_what_it_cost(monkeypatch: pytest.MonkeyPatch) -> None:
    thrift, slow = Thrift(), Slow(monkeypatch, 0.1)

    first = await thrift.ask("q", slow.find_out, is_fresh=False)
    slow.now_s += 0.1 * PAUSE - 0.01
    kept = await thrift.ask("q", slow.find_out, is_fresh=False)
    slow.now_s += 0.02
    anew = await thrift.ask("q", slow.find_out, is_fresh=False)

    assert (first, kept, anew) == (1, 1, 2)


async def test_what_is_asked_by_hand_is_fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    thrift, slow = Thrift(), Slow(monkeypatch, 0.1)

    await thrift.ask("q", slow.find_out, is_fresh=False)

    assert await thrift.ask("q", slow.find_out, is_fresh=True) == 2
    assert await thrift.ask("q", slow.find_out, is_fresh=False) == 2


async def test_answers_kept_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    thrift, slow = Thrift(), Slow(monkeypatch, 0.1)
    for number in range(KEPT_MAX + 1):
        await thrift.ask(number, slow.find_out, is_fresh=False)

    await thrift.ask(0, slow.find_out, is_fresh=False)

    assert slow.asked == KEPT_MAX + 2


async def calls_of(desk: Desk, monkeypatch: pytest.MonkeyPatch, path: str) -> Counter[str]:
    """Returns the cache calls that a page makes."""
    asked: Counter[str] = Counter()
    cache = desk.bench.cache
    for name in ("survey", "peek", "lookup"):
        call = getattr(cache, name)

        async def counted(*args: object, _name: str = name, _call: object = call) -> object:
            asked[_name] += 1
            if _name == "survey":
                asked["surveyed"] += len(args[0])  # type: ignore[arg-type]
            return await _call(*args)  # type: ignore[operator]

        monkeypatch.setattr(cache, name, counted)
    assert (await desk.get(path)).status == 200
    monkeypatch.undo()
    return asked


async def test_a_list_of_many_queues_counts_only_those_that_are_seen(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(PER_PAGE * 4):
        await desk.bench.create(f"q{number}")

    for path in ("/queues", "/queues?sort=-oldest&page=2", "/queues?q=q1", "/"):
        asked = await calls_of(desk, monkeypatch, path)
        assert (asked["survey"], asked["surveyed"] <= PER_PAGE) == (1, True), path
        assert asked["peek"] == 0, path


async def test_looking_at_dead_letters_walks_the_queue_once(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    dead = await desk.bench.create("dead")
    await desk.bench.create("orders", redrive=Redrive(dead.arn, 1))
    for _ in range(30):
        await desk.bench.send(dead, *(f"m{number}" for number in range(10)))

    assert (await calls_of(desk, monkeypatch, f"/q/{ACCOUNT}/dead/dead-letters"))["peek"] == 1
    assert (await calls_of(desk, monkeypatch, f"/q/{ACCOUNT}/dead/messages"))["peek"] == 1


async def test_five_tabs_that_refresh_take_less_than_two_percent_of_a_core(desk: Desk) -> None:
    """With 10,000 queues and a refresh every 5 s. Includes the CPU of this test's client."""
    engine = desk.bench.engine
    of_now: Any = {"region": "us-east-1", "created_ms": 1, "modified_ms": 1}
    for number in range(10_000):
        engine.registry.put(Queue(account=ACCOUNT, name=f"q{number:05}", uid=number, **of_now))
    orders = await desk.bench.create("orders")
    await desk.bench.send(orders, *(f"m{number}" for number in range(10)))
    own = f"/q/{ACCOUNT}/orders"
    paths = ("/", "/queues", own, f"{own}/messages", "/nodes")
    rounds = []
    for _ in range(4):
        begun_s = time.process_time()
        for path in paths:
            assert (await desk.get(path, HX_Request="true")).status == 200
        rounds.append(time.process_time() - begun_s)

    assert min(rounds) / 5 < 0.02
