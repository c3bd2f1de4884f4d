"""When the receivers of a replay leave: only once no more messages can come. The fake client moves the clock."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from spark_jobs import players
from spark_jobs.client import CallFailed, Content, OutcomeUnknown, attribute_bytes
from spark_jobs.errors import EndpointFailed
from spark_jobs.observation import Observation
from spark_jobs.players import PATIENCE_S, Part, Player
from spark_jobs.progress import Reporter, shown, totals_at
from spark_jobs.workload import Workload, named

LOAD = Workload("w", visibility_s=5)
PART = Part("run", "r0-0", False, "http://127.0.0.1:1", "q", "url", 0, 1)


class Bench:
    """A queue with one message, visible from `message_s`. Receives in `unanswered` hide it for its visibility timeout,
    but their response is lost."""

    def __init__(self, message_s: float | None = None, unanswered: Callable[[float], bool] = lambda _: False) -> None:
        self.now_s = 0.0
        self.message_s = message_s
        self.unanswered = unanswered
        self.seen: list[Observation] = []
        self.drop_probability = 0.0

    @property
    def clock(self) -> SimpleNamespace:
        return SimpleNamespace(
            monotonic=lambda: self.now_s, perf_counter=lambda: self.now_s, time_ns=lambda: 0, sleep=self.sleep
        )

    def sleep(self, seconds: float) -> None:
        self.now_s += seconds

    def receive(self, _url: str, _count_max: int, wait_s: int) -> list[dict[str, Any]]:
        if self.unanswered(self.now_s):
            if self.message_s is not None and self.message_s <= self.now_s + wait_s:
                self.message_s = self.now_s + LOAD.visibility_s
            raise OutcomeUnknown
        self.now_s += wait_s
        if self.message_s is None or self.message_s > self.now_s:
            return []
        self.message_s = None
        return [{"Body": "run s0-0 0 x y", "MessageId": "m", "ReceiptHandle": "h"}]

    def delete(self, _url: str, _receipt: str) -> None: ...

    def close(self) -> None: ...

    def run(self, monkeypatch: pytest.MonkeyPatch, load: Workload, is_sending: Callable[[], bool]) -> list[str]:
        """Runs a receiver until it leaves. Returns the outcomes of its receives."""
        monkeypatch.setattr(players, "time", self.clock)
        monkeypatch.setattr(players, "Client", lambda *_: self)
        Player(PART, load, self.seen.append, is_sending).run()
        return [one.outcome for one in self.seen if one.event == "receive"]


def test_receiver_leaves_when_nothing_comes_and_nobody_sends(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench()

    assert set(bench.run(monkeypatch, LOAD, lambda: False)) == {"empty"}
    assert bench.now_s < 5


def test_receiver_stays_for_a_send_that_takes_long(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench(message_s=40.5)

    assert bench.run(monkeypatch, LOAD, lambda: bench.now_s < 40.5).count("ok") == 1


def test_receiver_waits_for_sends_no_longer_than_its_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench()

    assert "ok" not in bench.run(monkeypatch, LOAD, lambda: True)
    assert PATIENCE_S < bench.now_s < PATIENCE_S + 10


@pytest.mark.parametrize(("drop", "end_s"), [(0.0, 2), (0.1, 7)], ids=["unforeseen", "on purpose"])
def test_message_that_was_lost_with_the_last_answer_is_waited_for(
    monkeypatch: pytest.MonkeyPatch, drop: float, end_s: int
) -> None:
    load = Workload("w", visibility_s=5, drop_probability=drop)
    bench = Bench(message_s=end_s + 0.1, unanswered=lambda now_s: end_s <= now_s < end_s + 0.1)

    assert bench.run(monkeypatch, load, lambda: False)[end_s:].count("unknown") == 1
    assert [one.outcome for one in bench.seen if one.event == "delete"] == ["ok"]


def test_calls_that_are_lost_on_purpose_do_not_keep_a_receiver_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    load, rng = Workload("w", visibility_s=30, drop_probability=0.3), random.Random(4)
    bench = Bench(message_s=3, unanswered=lambda _: rng.random() < bench.drop_probability)
    bench.drop_probability = load.drop_probability

    outcomes = bench.run(monkeypatch, load, lambda: bench.now_s < 20)

    assert outcomes.count("ok") == 1
    assert outcomes.count("unknown") > 2
    assert bench.now_s < 20 + 2 * 33
    assert set(outcomes[-30:]) == {"empty"}


def test_receiver_leaves_a_server_that_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench(unanswered=lambda _: True)

    assert set(bench.run(monkeypatch, LOAD, lambda: True)) == {"unknown"}
    assert bench.now_s < PATIENCE_S + 20


class Refusing:
    """A server that accepts the first send and fails all others with `error`."""

    drop_probability = 0.0

    def __init__(self, error: Exception) -> None:
        self.error = error
        self.bodies: list[int] = []

    def send(self, _url: str, body: str, *_: object) -> str:
        self.bodies.append(len(body))
        if len(self.bodies) > 1:
            raise self.error
        return "m"

    def close(self) -> None: ...


@pytest.mark.parametrize(
    ("error", "reason", "least_s", "most_s"),
    [
        (OutcomeUnknown("gone"), "has not answered a send for 60 s: gone", PATIENCE_S, PATIENCE_S + 2),
        (CallFailed("400"), "refused a send 50 times: 400", 5, 12),
    ],
)
def test_sender_does_not_try_each_message_anew_on_a_server_that_is_gone(
    monkeypatch: pytest.MonkeyPatch, error: Exception, reason: str, least_s: float, most_s: float
) -> None:
    bench, server = Bench(), Refusing(error)
    seen: list[Observation] = []
    monkeypatch.setattr(players, "time", bench.clock)
    monkeypatch.setattr(players, "Client", lambda *_: server)
    sender = Player(replace(PART, is_sender=True), replace(LOAD, messages=1_000), seen.append)

    with pytest.raises(EndpointFailed, match=reason):
        sender.run()

    assert {one.index for one in seen} == {0, 1}
    assert least_s <= bench.now_s <= most_s


def test_largest_body_leaves_room_for_attributes(monkeypatch: pytest.MonkeyPatch) -> None:
    server = Refusing(OutcomeUnknown("gone"))
    monkeypatch.setattr(players, "Client", lambda *_: server)
    Player(PART, LOAD, lambda _: None).send(7, 1_048_576, "")

    assert server.bodies == [1_048_576 - attribute_bytes(Content("run", "r0-0", 7, True))]


def test_one_tenant_in_five_sends_about_four_messages_of_five(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(players, "Client", lambda *_: None)
    sender = Player(PART, named("quick"), lambda _: None)

    tenants = Counter(sender._tenant() for _ in range(50_000))

    assert 0.7 < sum(count for _, count in tenants.most_common(200)) / 50_000 < 0.85
    assert len(tenants) > 900
    assert max(tenants.values()) < 50_000 / 5


def test_tasks_learn_how_far_all_of_them_are() -> None:
    told: list[str] = []
    with shown(told.append) as address:
        one, other = Reporter(address), Reporter(address)
        one.add({"send ok": 3})
        other.add({"send ok": 4, "receive ok": 1})
        other.close()
        one.close()
        totals = totals_at(address)

    assert totals == {"send ok": 7, "receive ok": 1}


def test_driver_that_is_gone_tells_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spark_jobs.progress.ANSWER_S_MAX", 0.1)
    with shown(lambda _: None) as address:
        pass

    assert totals_at(address) is None
