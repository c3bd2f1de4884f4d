"""What a time window proves if the journal has gaps before and after it."""

from __future__ import annotations

import pytest

from spark_jobs.findings import Kind
from spark_jobs.gaps import Gap, GapKind
from spark_jobs.integrity import Integrity
from spark_jobs.reconcile import Reconciled
from spark_jobs.verdict import State, judge
from tests.spark.test_verdict import totals

GAP = Gap(GapKind.MISSING, "n", "i", "p", 12, 1, 2)


def test_loss_is_explained_by_what_is_missing_later_and_not_by_what_is_missing_before() -> None:
    lossy, store = totals(lost=1), Reconciled(stored=4, lost=1)

    before = judge(lossy, Integrity(before=[GAP]), is_drained=False, store=store)
    after = judge(lossy, Integrity(after=[GAP]), is_drained=False, store=store)
    sound = judge(totals(), Integrity(before=[GAP], after=[GAP]), is_drained=False, store=Reconciled(stored=5))

    assert (before.state, before.lost) == (State.VIOLATED, 1)
    assert (after.state, after.lost, after.reasons) == (
        State.UNPROVEN,
        None,
        ("1 acknowledged message is lost: or a line that is missing explains it",),
    )
    assert (sound.state, sound.lost) == (State.PROVEN, 0)


@pytest.mark.parametrize("kind", [Kind.FIFO_ORDER, Kind.FIFO_TWO_CONSUMERS, Kind.HIDDEN_TOO_SHORT])
def test_delivery_that_is_wrong_for_its_past_is_explained_by_what_is_missing_of_it(kind: Kind) -> None:
    found = totals(**{kind.value.replace(" ", "_"): 2})

    assert judge(found, Integrity(before=[GAP]), is_drained=True).state is State.UNPROVEN
    assert judge(found, Integrity(), is_drained=True).state is State.VIOLATED


def test_message_that_was_lost_in_the_window_or_before_is_a_doubt() -> None:
    found = totals(open_before_the_window=1)

    stored = judge(found, Integrity(), is_drained=False, store=Reconciled())
    alone = judge(found, Integrity(), is_drained=False)

    assert (stored.state, stored.lost) == (State.UNPROVEN, None)
    assert stored.reasons == (
        "1 message sent before the window did not end, and is not in the store: it may have been in the window",
    )
    assert "may be lost, which only the store can tell" in alone.reasons[0]


def test_nothing_lost_is_not_said_beside_a_doubt() -> None:
    wrong = totals(ended_but_still_stored=1, open_before_the_window=1)

    verdict = judge(wrong, Integrity(), is_drained=False, store=Reconciled(still_stored=1))

    assert (verdict.state, verdict.lost) == (State.VIOLATED, None)
