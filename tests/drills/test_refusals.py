"""A drill fails if sends are acknowledged that nobody can store, if a fault was meant to refuse calls and did not, or
if requests pile up in memory."""

from __future__ import annotations

import os

import pytest

from tests.drills.drills import Drill
from tests.drills.faults import nothing
from tests.drills.history import Call, Fault, History
from tests.drills.load import Run
from tests.drills.memory import GROWN, GROWN_MAX, watched
from tests.drills.place import Kind
from tests.drills.refusals import REFUSED, THROTTLED, refused, throttled
from tests.drills.result import Result
from tests.drills.verdict import judge

UNAVAILABLE, THROTTLE = "503 {'__type': 'x#ServiceUnavailable'}", "400 {'__type': 'x#RequestThrottled'}"


def send(started_s: float, ended_s: float, error: str = "") -> Call:
    return Call("SendMessageBatch", started_s, ended_s, not error, error)


def broken(*calls: Call, told: dict[str, int] | None = None, is_closed: bool = True, is_long: bool = True) -> list[str]:
    """Returns the broken guarantees of a drill in which no send could be stored from 10 to 20 s."""
    drill = Drill("no quorum", Kind.RING, nothing)
    run = Run(drill.load, lambda: [1], 7)
    closed = [Fault("no quorum", 10.0, 20.0)] if is_closed else []
    run.history = History(calls=list(calls), closed=closed, told=told or {})
    return Result(drill, is_long, 7, run, judge(run.history), 1.0).broken


@pytest.mark.parametrize("error", ["", "500 {}", THROTTLE])
def test_send_that_nobody_can_store_is_refused_with_503_and_nothing_else(error: str) -> None:
    assert broken(send(11, 12, UNAVAILABLE), send(21, 22)) == []
    assert broken(send(11, 12, error), send(21, 22)) == [
        "1 sends not refused with 503 while none could be stored, at most 0"
    ]


def test_send_that_began_before_or_got_no_response_may_have_been_stored() -> None:
    assert broken(send(9, 11), send(17, 21), send(13, 14, "ConnectionLost()"), send(21, 22)) == []


@pytest.mark.parametrize("error", ["", UNAVAILABLE, "TimeoutError()"])
def test_send_that_nobody_can_store_is_not_kept_waiting(error: str) -> None:
    assert broken(send(9, 18), send(19, 27, error), send(21, 29)) == []
    assert broken(send(19, 27.1, error), send(21, 29)) == [
        "1 sends that took longer than 8 s while none could be stored, at most 0"
    ]
    assert broken(send(19, 27.1, error), send(21, 29), is_long=False) == []


def test_sends_must_succeed_afterwards() -> None:
    assert broken(send(11, 12, UNAVAILABLE), send(21, 22, UNAVAILABLE), Call("ReceiveMessage", 23, 24, True)) == [
        "1 times no send was acknowledged afterwards, at most 0"
    ]


@pytest.mark.parametrize("name", [REFUSED, THROTTLED])
def test_fault_that_refused_nothing_proves_nothing(name: str) -> None:
    assert broken(is_closed=False, told={name: 1}) == []
    assert broken(is_closed=False, told={name: 0}) == [f"1 times there were no {name}, at most 0"]


def test_only_sends_of_the_time_asked_for_count_as_refused() -> None:
    late = Call("DeleteMessageBatch", 12, 13, False, UNAVAILABLE)
    history = History(calls=[send(11, 12, UNAVAILABLE), send(12, 13, UNAVAILABLE), late, send(13, 14, THROTTLE)])

    assert (refused(history, 11), refused(history, 11.5), refused(history, 11, 12.5)) == (2, 1, 1)
    assert throttled(history) == 1


async def test_growth_of_memory_is_found() -> None:
    history = History()

    async with watched(history, [os.getpid()]):
        grown = b"x" * 80_000_000

    assert history.told[GROWN] >= len(grown) // 1_000_000 - 10


def test_memory_may_grow_by_so_much() -> None:
    assert broken(is_closed=False, told={GROWN: GROWN_MAX}) == []
    assert broken(is_closed=False, told={GROWN: GROWN_MAX + 1}) == [f"51 {GROWN}, at most 50"]
