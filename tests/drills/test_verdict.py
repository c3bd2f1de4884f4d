"""The checker's verdicts, each tested with a small history."""

from __future__ import annotations

import pytest

from tests.drills.history import (
    Call,
    Delete,
    Empty,
    Fault,
    History,
    LetGo,
    Outcome,
    Receive,
    Send,
)
from tests.drills.verdict import Cause, Verdict, judge, recovery_s

HIDDEN_S = 10.0


class Story:
    """Builds a history of one queue. Messages are numbers; ids default to `m` and the number."""

    def __init__(self) -> None:
        self.history = History()
        self._answers = 0

    def send(self, *numbers: int, group: str = "", unknown: int = 0, is_acknowledged: bool = True) -> Story:
        for number in numbers:
            message_id = f"m{number}" if is_acknowledged else ""
            self.history.sends.append(Send("q", number, group, 0.0, 0.5, message_id, unknown))
        return self

    def receive(self, at_s: float, *numbers: int | None, message_id: str = "", count: int = 1) -> Story:
        self._answers += 1
        for place, number in enumerate(numbers):
            one = Receive(
                "q", number, message_id or f"m{number}", count, at_s, at_s + 0.1, HIDDEN_S, self._answers, place
            )
            self.history.receives.append(one)
        return self

    def delete(self, at_s: float, *numbers: int, outcome: Outcome = Outcome.DONE) -> Story:
        self.history.deletes += [Delete("q", f"m{number}", at_s, at_s + 0.1, outcome) for number in numbers]
        return self

    def let_go(self, at_s: float, number: int, *, is_given_back: bool = False) -> Story:
        self.history.let_go.append(LetGo("q", f"m{number}", at_s, is_given_back))
        return self

    def fault(self, started_s: float, ended_s: float) -> Story:
        self.history.faults.append(Fault("fault", started_s, ended_s))
        return self

    def judge(self, settle_s: float = 0.0, fifo_copies: int = 1) -> Verdict:
        return judge(self.history, settle_s, fifo_copies)


def test_message_that_was_sent_received_and_deleted_is_in_order() -> None:
    verdict = Story().send(1, 2).receive(1, 1, 2).delete(2, 1, 2).judge()

    assert verdict == Verdict(attempted=2, acknowledged=2)


def test_acknowledged_and_never_received_is_lost() -> None:
    verdict = Story().send(1).judge()

    assert (verdict.lost, verdict.problems) == (1, ["q 1 (m1) is lost: never received"])


def test_received_and_never_seen_again_before_a_delete_is_lost() -> None:
    assert Story().send(1).receive(1, 1).let_go(2, 1).judge().lost == 1
    assert Story().send(1).receive(1, 1).delete(2, 1, outcome=Outcome.REFUSED).judge().lost == 1


def test_another_copy_does_not_make_up_for_the_acknowledged_one() -> None:
    story = Story().send(1, unknown=1).receive(1, 1, message_id="other")

    assert story.judge().lost == 1


def test_unacknowledged_and_received_is_recovered() -> None:
    verdict = Story().send(1, 2, unknown=1, is_acknowledged=False).receive(1, 1).delete(2, 1).judge()

    assert (verdict.attempted, verdict.acknowledged, verdict.recovered, verdict.lost) == (2, 0, 1, 0)


def test_what_nobody_sent_or_is_damaged_is_unexpected() -> None:
    assert Story().receive(1, 7).judge().unexpected == 1
    assert Story().receive(1, None, message_id="m1").judge().unexpected == 1


def test_copies_are_explained_by_unknown_sends_and_by_nothing_else() -> None:
    def story(unknown: int, group: str = "") -> Verdict:
        told = Story().send(1, unknown=unknown, group=group)
        return told.receive(1, 1).delete(2, 1).receive(1, 1, message_id="other").judge()

    assert (story(unknown=1).causes, story(unknown=1).unexpected) == ({Cause.COPY: 1}, 0)
    assert story(unknown=0).unexpected == 1
    assert story(unknown=1, group="g").unexpected == 1


def test_deduplication_id_that_died_with_its_data_centre_explains_one_copy_of_a_try_that_nobody_knew_of() -> None:
    def unexpected(unknown: int, *copies: str) -> int:
        story = Story().send(1, unknown=unknown, group="g")
        for copy in copies:
            story.receive(1, 1, message_id=copy).delete(2, 1)
        return story.judge(fifo_copies=2).unexpected

    assert unexpected(5, "m1", "other") == 0
    assert unexpected(5, "m1", "other", "third") == 1
    assert unexpected(0, "m1", "other") == 1


def test_received_after_its_delete_was_acknowledged_is_resurrected() -> None:
    verdict = Story().send(1).receive(1, 1).delete(2, 1).receive(30, 1, count=2).judge()

    assert (verdict.resurrected, verdict.duplicated) == (1, 1)


def test_receive_that_began_before_the_delete_was_answered_is_not_resurrected() -> None:
    assert Story().send(1).receive(1, 1).delete(12, 1).receive(12.05, 1, count=2).judge().resurrected == 0


def test_received_before_its_lease_is_over_is_hidden_too_short() -> None:
    story = Story().send(1).receive(1, 1).receive(5, 1, count=2).delete(6, 1)

    assert story.judge().hidden_too_short == 1
    assert story.judge().causes == {Cause.UNEXPLAINED: 1}


@pytest.mark.parametrize(("fault_s", "is_explained"), [(3, True), (0.5, True), (0, False), (7, False)])
def test_fault_between_two_receives_explains_a_short_lease(fault_s: float, is_explained: bool) -> None:
    verdict = Story().send(1).receive(2, 1).fault(fault_s, fault_s + 0.5).receive(5, 1, count=2).delete(6, 1).judge(1)

    assert verdict.hidden_too_short == (not is_explained)
    assert verdict.causes == {Cause.FAULT if is_explained else Cause.UNEXPLAINED: 1}


def test_what_was_given_back_may_come_at_once_and_what_was_quit_after_its_lease() -> None:
    back = Story().send(1).receive(1, 1).let_go(2, 1, is_given_back=True).receive(3, 1, count=2).delete(4, 1).judge()
    quit_late = Story().send(1).receive(1, 1).let_go(2, 1).receive(12, 1, count=2).delete(13, 1).judge()
    quit_early = Story().send(1).receive(1, 1).let_go(2, 1).receive(5, 1, count=2).delete(6, 1).judge()

    assert (back.redelivered, back.hidden_too_short, back.duplicated) == (1, 0, 0)
    assert (quit_late.redelivered, quit_late.hidden_too_short, quit_late.duplicated) == (1, 0, 0)
    assert quit_early.hidden_too_short == 1


def test_duplicates_after_the_lease_are_late_or_of_an_unknown_delete() -> None:
    late = Story().send(1).receive(1, 1).receive(12, 1, count=2).delete(13, 1).judge()
    unknown = Story().send(1).receive(1, 1).delete(2, 1, outcome=Outcome.UNKNOWN).receive(12, 1, count=2).judge()

    assert (late.causes, unknown.causes) == ({Cause.LATE: 1}, {Cause.DELETE: 1})


def test_receives_are_counted() -> None:
    assert Story().send(1).receive(1, 1).receive(12, 1, count=1).delete(13, 1).judge().miscounted == 1
    assert Story().send(1).receive(1, 1).fault(2, 3).receive(12, 1, count=1).delete(13, 1).judge().miscounted == 0


def test_receives_are_counted_one_by_one_but_for_those_without_an_answer() -> None:
    def story(*calls: Call) -> Verdict:
        told = Story().send(1).receive(1, 1).receive(12, 1, count=3).delete(13, 1)
        told.history.calls += calls
        return told.judge()

    assert story().miscounted == 1
    assert story(Call("SendMessageBatch", 11.2, 11.3, False)).miscounted == 1
    assert story(Call("ReceiveMessage", 11.2, 11.3, False)).miscounted == 0


def test_message_that_is_due_and_not_given_is_overdue() -> None:
    def story(empty_s: float, until_s: float = 1.0) -> Story:
        told = Story().send(1).receive(1, 1).let_go(2, 1).receive(20, 1, count=2).delete(21, 1)
        told.history.empties.append(Empty("q", empty_s, empty_s + until_s))
        return told

    assert story(12.2).judge().overdue == 1
    assert story(11.9).judge().overdue == 0, "not due for a second"
    assert story(12.2, until_s=8.0).judge().overdue == 0, "the other one may have been before it"
    assert story(22).judge().overdue == 0, "it is deleted"
    assert story(12.2).fault(5, 6).judge().overdue == 0


def test_message_in_a_poll_that_began_before_the_send_is_not_overdue_while_it_is_held() -> None:
    told = Story().receive(-0.05, 1).send(1).let_go(2, 1).receive(20, 1, count=2).delete(21, 1)
    told.history.empties.append(Empty("q", 3, 4))

    assert told.judge().overdue == 0


def test_message_that_never_comes_is_overdue_and_one_of_a_group_may_wait() -> None:
    def story(group: str) -> Verdict:
        told = Story().send(1, group=group)
        told.history.empties.append(Empty("q", 2, 3))
        return told.judge()

    assert (story("").overdue, story("g").overdue) == (1, 0)


def test_one_of_ten_thousand_is_missed_by_name() -> None:
    kept = [number for number in range(10_000) if number != 7_777]
    verdict = Story().send(*range(10_000)).receive(1, *kept).delete(2, *kept).judge()

    assert (verdict.lost, verdict.problems) == (1, ["q 7777 (m7777) is lost: never received"])


def test_rows_that_stay_in_the_store_are_stuck() -> None:
    story = Story().send(1).receive(1, 1).delete(2, 1)
    story.history.left = {"q": 2}

    assert story.judge().stuck == 2


def test_group_keeps_its_order() -> None:
    good = Story().send(1, 2, 3, group="g").receive(1, 1, 2).delete(2, 1, 2).receive(3, 3).delete(4, 3)
    skipped = Story().send(1, 2, group="g").receive(1, 2).delete(2, 2).receive(3, 1).delete(4, 1)
    swapped = Story().send(1, 2, group="g").receive(1, 2, 1).delete(2, 1, 2)

    assert good.judge().out_of_order == 0
    assert skipped.judge().out_of_order == 1
    assert swapped.judge().out_of_order == 1


def test_other_group_does_not_wait() -> None:
    story = Story().send(1, group="a").send(2, group="b").receive(1, 2).delete(2, 2).receive(3, 1).delete(4, 1)

    assert story.judge().out_of_order == 0


def test_group_has_one_consumer_while_a_lease_lives() -> None:
    again = Story().send(1, 2, group="g").receive(1, 1, 2).receive(5, 1, count=2).delete(6, 1, 2)
    over = Story().send(1, 2, group="g").receive(1, 1, 2).receive(12, 1, 2, count=2).delete(13, 1, 2)

    assert again.judge().shared_groups == 1
    assert over.judge().shared_groups == 0


def test_recovery_is_the_last_failure_after_a_fault() -> None:
    story = Story().fault(1, 2).fault(10, 11)
    story.history.calls += [Call("a", 1, 1.5, False), Call("a", 2, 2.5, False), Call("a", 2, 4, True)]

    assert recovery_s(story.history) == 0.5
