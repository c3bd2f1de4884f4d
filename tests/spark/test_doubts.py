"""Events that look wrong but have a possible explanation count as doubts, not as violations."""

from __future__ import annotations

from dataclasses import replace

import pytest

from spark_jobs.findings import Kind
from spark_jobs.integrity import Integrity
from spark_jobs.reconcile import Reconciled
from spark_jobs.verdict import State, judge
from tests.spark.test_verdict import WHOLE, totals


@pytest.mark.parametrize("kind", [Kind.ORPHAN, Kind.LOST, Kind.UNEXPECTED, Kind.FIFO_ORDER, Kind.STILL_STORED])
def test_what_was_not_written_down_explains_what_looks_wrong(kind: Kind) -> None:
    """A store has all messages, a sampled journal only some; and one node may sample while another does not."""
    store = Reconciled(stored=9, lost=2 if kind is Kind.LOST else 0)

    verdict = judge(totals(**{kind.value.replace(" ", "_"): 2}), Integrity(sampled=10), is_drained=False, store=store)

    assert (verdict.state, verdict.lost) == (State.UNPROVEN, None)
    assert verdict.reasons[-1].startswith("2 ")
    assert verdict.reasons[-1].endswith(": or a message that was not recorded explains it")


@pytest.mark.parametrize("is_drained", [True, False])
def test_what_was_received_and_never_deleted_may_be_lost_unless_it_is_stored(is_drained: bool) -> None:
    held = replace(totals(), held=3)

    told, stored = (judge(held, WHOLE, is_drained=is_drained, store=store) for store in (None, Reconciled(stored=3)))

    assert (told.state, told.lost) == (State.UNPROVEN, None)
    assert told.reasons[0].startswith("3 messages were received and never deleted")
    assert (stored.state, stored.lost) == (State.PROVEN, 0)


@pytest.mark.parametrize(
    "kind", [Kind.RESURRECTED, Kind.HIDDEN_TOO_SHORT, Kind.FIFO_ORDER, Kind.FIFO_TWO_CONSUMERS, Kind.CORRUPTED]
)
def test_skew_beyond_the_given_bound_explains_what_was_judged_by_clocks(kind: Kind) -> None:
    found = totals(**{kind.value.replace(" ", "_"): 2})

    verdict = judge(replace(found, skew_ms=20), WHOLE, is_drained=True)

    assert judge(found, WHOLE, is_drained=True).state is State.VIOLATED
    assert verdict.state is (State.VIOLATED if kind is Kind.CORRUPTED else State.UNPROVEN)
    assert (kind is Kind.CORRUPTED) is ("20 ms" not in verdict.reasons[0])


def test_messages_older_than_the_journal_are_a_doubt() -> None:
    verdict = judge(totals(older_than_the_journal=2), WHOLE, is_drained=True)

    assert (verdict.state, verdict.reasons[0].split(",")[0]) == (
        State.UNPROVEN,
        "2 messages are older than the journal",
    )


def test_repeat_of_a_message_that_there_never_was_is_a_violation_or_another_nodes() -> None:
    found = totals(never_stored=2)

    assert judge(found, WHOLE, is_drained=True).state is State.VIOLATED
    assert judge(replace(found, signs={}), WHOLE, is_drained=True).state is State.UNPROVEN
