"""The rules of message groups, step by step, without Spark."""

from __future__ import annotations

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from cqs.events import EventName
from spark_jobs.fifo import Group, Moment
from spark_jobs.findings import Kind

Found = list[tuple[Kind, int]]


class Play:
    """Steps of one group. Messages are named by their sequence numbers."""

    def __init__(self, early_ms: int = 0) -> None:
        self.group = Group(early_ms)

    def sent(self, time_ms: int, *sequences: int) -> None:
        for sequence in sequences:
            self.group.step(Moment(EventName.SENT, time_ms, str(sequence), sequence, "", 0))

    def delivered(self, time_ms: int, call: str, *sequences: int, until_ms: int = 1_000) -> Found:
        return [
            wrong
            for sequence in sequences
            for wrong in self.group.step(Moment(EventName.RECEIVED, time_ms, str(sequence), sequence, call, until_ms))
        ]

    def deleted(self, time_ms: int, *sequences: int) -> None:
        for sequence in sequences:
            self.group.step(Moment(EventName.DELETED, time_ms, str(sequence), 0, "", 0))

    def hidden(self, time_ms: int, sequence: int, until_ms: int) -> None:
        self.group.step(Moment(EventName.HIDDEN, time_ms, str(sequence), 0, "", until_ms))


def test_one_after_the_other_is_right() -> None:
    play = Play()
    play.sent(1, 1, 2)

    assert play.delivered(2, "a", 1) == []
    play.deleted(3, 1)
    assert play.delivered(3, "b", 2) == []


def test_several_in_one_call_are_right_in_their_order_only() -> None:
    play = Play()
    play.sent(1, 1, 2, 3, 4)

    assert play.delivered(2, "a", 1, 2) == []
    play.deleted(3, 1, 2)
    assert play.delivered(4, "b", 4, 3) == [(Kind.FIFO_ORDER, 3)]


def test_overtaking_a_message_that_waits_is_wrong() -> None:
    play = Play()
    play.sent(1, 1, 2)

    assert play.delivered(2, "a", 2) == [(Kind.FIFO_ORDER, 1)]


def test_overtaking_one_whose_timeout_ran_out_is_wrong() -> None:
    play = Play()
    play.sent(1, 1, 2)
    play.delivered(2, "a", 1, until_ms=10)

    assert play.delivered(10, "b", 2) == [(Kind.FIFO_ORDER, 1)]


def test_two_calls_must_not_hold_the_group_at_a_time() -> None:
    play = Play()
    play.sent(1, 1, 2)
    play.delivered(2, "a", 1)

    assert play.delivered(3, "b", 2) == [(Kind.FIFO_TWO_CONSUMERS, 1)]


def test_earlier_one_again_while_a_later_one_is_held_is_wrong() -> None:
    play = Play()
    play.sent(1, 1, 2)
    play.delivered(2, "a", 1, 2)
    play.hidden(3, 1, 3)

    assert play.delivered(4, "b", 1) == [(Kind.FIFO_TWO_CONSUMERS, 2)]


def test_skipping_one_of_a_call_that_was_not_deleted_is_wrong() -> None:
    play = Play()
    play.sent(1, 1, 2, 3)
    play.delivered(2, "a", 1, 2, until_ms=10)
    play.deleted(3, 2)

    assert play.delivered(10, "b", 3) == [(Kind.FIFO_ORDER, 1)]
    assert play.delivered(10, "b", 1) == []


def test_what_was_sent_later_than_the_delivery_is_not_overtaken() -> None:
    play = Play()
    play.sent(1, 2)
    assert play.delivered(2, "a", 2) == []
    play.sent(3, 1)
    play.deleted(4, 2)

    assert play.delivered(5, "b", 1) == []


def test_finish_that_comes_early_ends_its_message() -> None:
    play = Play(early_ms=50)
    play.sent(1, 1, 2)
    play.deleted(90, 1)

    assert play.delivered(100, "a", 1) == []
    assert play.delivered(101, "b", 2) == []


def test_delivered_and_deleted_in_one_millisecond_is_finished() -> None:
    play = Play()
    play.deleted(5, 1)
    assert play.delivered(5, "a", 1) == []
    play.sent(5, 1)

    assert play.delivered(6, "b", 2) == []


def _random_line(rng: random.Random, *, count: int = 60) -> list[Moment]:
    """Random events of five messages, in order of time."""
    line = [Moment(EventName.SENT, sequence, str(sequence), sequence, "", 0) for sequence in range(1, 6)]
    for time_ms in range(6, 6 + count):
        sequence, event = rng.randint(1, 5), rng.choice([EventName.RECEIVED, EventName.HIDDEN, EventName.DELETED])
        own, call = (sequence, f"call-{time_ms // 2}") if event == EventName.RECEIVED else (0, "")
        line.append(Moment(event, time_ms, str(sequence), own, call, time_ms + rng.randint(0, 9)))
    return line


@given(st.integers(0, 1 << 32), st.integers(0, 70), st.sampled_from([0, 4]))
@settings(max_examples=300, deadline=None)
def test_line_in_two_pieces_gives_what_the_whole_gives(seed: int, cut_ms: int, early_ms: int) -> None:
    line = _random_line(random.Random(seed))
    whole, first, second = Group(early_ms), Group(early_ms), Group(early_ms)

    expected = [wrong for moment in line for wrong in whole.step(moment)]
    found = [wrong for moment in line if moment.time_ms <= cut_ms for wrong in first.step(moment)]
    for carried in first.carried(cut_ms):
        second.carry(carried)
    found += [wrong for moment in line if moment.time_ms > cut_ms for wrong in second.step(moment)]

    assert found == expected
