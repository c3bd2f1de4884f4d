"""What the figures prove."""

from __future__ import annotations

from dataclasses import replace

import pytest

from spark_jobs.findings import Kind
from spark_jobs.gaps import Gap, GapKind
from spark_jobs.integrity import Integrity
from spark_jobs.reconcile import Reconciled
from spark_jobs.totals import Totals
from spark_jobs.verdict import State, judge, last_line, with_clients

WHOLE = Integrity()
GAP = Integrity(gaps=[Gap(GapKind.MISSING, "n", "i", "p", 12, 1, 2)])


def totals(**found: int) -> Totals:
    kinds = {name.replace("_", " "): count for name, count in found.items()}
    return Totals(acknowledged=1_000, received=1_000, deleted=990, holes=10, found=kinds)


def test_whole_journal_without_findings_proves_that_nothing_was_lost() -> None:
    verdict = judge(totals(), WHOLE, is_drained=False)

    assert (verdict.state, verdict.lost, verdict.lost_text) == (State.PROVEN, 0, "0")


def test_nothing_lost_is_never_said_over_a_gap() -> None:
    verdict = judge(totals(), GAP, is_drained=True)

    assert (verdict.state, verdict.lost_text) == (State.UNPROVEN, "unproven")
    assert "10 messages touched by gaps: 12 events" in verdict.reasons[0]
    assert " lost unproven " in last_line(totals(), verdict, "r")


def test_sampling_proves_nothing_but_a_violation() -> None:
    sampled = Integrity(sampled=10)

    assert judge(totals(), sampled, is_drained=True).state is State.UNPROVEN
    assert "about 9000 messages touched by sampling" in judge(totals(), sampled, is_drained=True).reasons[0]
    assert judge(totals(corrupted=1), sampled, is_drained=True).state is State.VIOLATED


def test_waiting_messages_are_lost_only_when_the_queues_were_drained() -> None:
    waiting = totals(not_received=3)

    assert judge(waiting, WHOLE, is_drained=False).state is State.UNPROVEN
    drained = judge(waiting, WHOLE, is_drained=True)
    assert (drained.state, drained.lost) == (State.VIOLATED, 3)


def test_store_tells_waiting_from_lost() -> None:
    waiting = totals(not_received=3)

    stored = judge(waiting, WHOLE, is_drained=False, store=Reconciled(stored=3))
    lost = judge(waiting, WHOLE, is_drained=False, store=Reconciled(stored=1, lost=2))

    assert (stored.state, stored.lost) == (State.PROVEN, 0)
    assert (lost.state, lost.lost) == (State.VIOLATED, 2)


@pytest.mark.parametrize("kind", [Kind.CORRUPTED, Kind.RESURRECTED])
def test_what_is_certain_is_a_violation_even_over_a_gap(kind: Kind) -> None:
    verdict = judge(totals(**{kind.value: 2}), GAP, is_drained=True)

    assert (verdict.state, verdict.lost) == (State.VIOLATED, None)


@pytest.mark.parametrize("kind", [Kind.CORRUPTED, Kind.RESURRECTED, Kind.STORED_CORRUPTED])
@pytest.mark.parametrize("gap", [GapKind.DAMAGED, GapKind.TORN])
def test_nothing_is_certain_when_a_line_may_have_been_changed(kind: Kind, gap: GapKind) -> None:
    changed = Integrity(gaps=[Gap(gap, "n", "i", "p", None, 1, 2)])

    verdict = judge(totals(**{kind.value.replace(" ", "_"): 2}), changed, is_drained=True)

    assert (verdict.state, verdict.lost) == (State.UNPROVEN, None)
    assert verdict.reasons[0].startswith("2 ")
    assert verdict.reasons[0].endswith(", unless a changed line says so")


def test_gaps_are_told_with_the_names_of_their_files() -> None:
    gaps = [Gap(GapKind.TORN, "n", "i", f"file:/j/{name}.gz", None, 1, 2) for name in "edcba"]
    integrity = Integrity(gaps=[*gaps, Gap(GapKind.NO_END, "n", "i", "x.gz", None, 1, 2)], pruned=7)

    [reason] = judge(totals(), integrity, is_drained=True).reasons

    assert reason.endswith(
        "(damaged file: a.gz, b.gz, c.gz and 2 more; no closing line: x.gz); 7 files were pruned to stay within "
        "the disk budget"
    )


@pytest.mark.parametrize(
    "kind",
    [Kind.UNEXPECTED, Kind.HIDDEN_TOO_SHORT, Kind.FIFO_ORDER, Kind.FIFO_TWO_CONSUMERS, Kind.NOT_RECEIVED],
)
def test_what_a_missing_line_may_explain_is_a_violation_only_without_gaps(kind: Kind) -> None:
    found = totals(**{kind.value.replace(" ", "_"): 2})

    assert judge(found, WHOLE, is_drained=True).state is State.VIOLATED
    assert judge(found, GAP, is_drained=True).state is State.UNPROVEN


@pytest.mark.parametrize("sign", ["unsent", "unreceived", "untaken", "silent"])
@pytest.mark.parametrize(
    "kind", [Kind.UNEXPECTED, Kind.HIDDEN_TOO_SHORT, Kind.FIFO_ORDER, Kind.FIFO_TWO_CONSUMERS, Kind.NOT_RECEIVED]
)
def test_what_an_absent_node_may_explain_is_no_violation(kind: Kind, sign: str) -> None:
    found = totals(**{kind.value.replace(" ", "_"): 2})

    verdict = judge(replace(found, signs={sign: 3}), WHOLE, is_drained=True)

    assert (verdict.state, verdict.lost) == (State.UNPROVEN, None)
    assert "or a node whose journal was not given (" in verdict.reasons[0]
    if kind is not Kind.UNEXPECTED:
        assert judge(replace(found, signs={}), WHOLE, is_drained=True).state is State.VIOLATED


def test_what_nobody_sent_is_itself_a_sign_of_an_absent_node() -> None:
    stored = Reconciled(stored=5, lost=2, orphans=1)
    found = replace(totals(unexpected=1, orphan=1, corrupted=1), signs={})

    assert judge(replace(found, found={"unexpected": 1}), WHOLE, is_drained=True).state is State.UNPROVEN
    assert judge(replace(found, found={"orphan": 1}), WHOLE, is_drained=False, store=stored).state is State.UNPROVEN
    certain = judge(found, WHOLE, is_drained=False, store=stored)
    assert (certain.state, certain.lost) == (State.VIOLATED, None)


def test_gap_that_is_seen_explains_before_a_node_that_is_not() -> None:
    verdict = judge(replace(totals(unexpected=10), signs={"unsent": 10}), GAP, is_drained=True)

    assert verdict.state is State.UNPROVEN
    assert [reason.split(":")[0] for reason in verdict.reasons] == [
        "10 messages touched by gaps",
        "10 messages were received that nobody sent",
    ]
    assert verdict.reasons[1].endswith(": or a line that is missing explains it")


def test_absent_node_that_explains_nothing_changes_nothing() -> None:
    assert judge(replace(totals(), signs={"untaken": 9}), WHOLE, is_drained=True).state is State.PROVEN


def test_duplicates_are_a_rate_and_no_violation() -> None:
    found = Totals(acknowledged=1_000_000, duplicates=2, found={"sent again": 4})

    assert found.duplicate_rate == 2e-6
    assert judge(found, WHOLE, is_drained=True).state is State.PROVEN


def test_nothing_sent_is_nothing_proven() -> None:
    assert judge(Totals(), WHOLE, is_drained=True).state is State.UNPROVEN


def test_last_line_has_its_words_in_their_order() -> None:
    figures = Totals(acknowledged=7, duplicates=1, out_of_order=0.2, displacement=0.4, found={})

    line = last_line(figures, judge(figures, WHOLE, is_drained=True), "build/report.html")

    assert line == (
        "verdict: acknowledged 7 lost 0 duplicates 1 (λ 0.14) out-of-order 20.000% displacement 0.4 proven "
        "report build/report.html"
    )


SEEN = {"lost": 0, "unexpected": 0, "corrupted": 0, "duplicated": 5, "recovered": 1}


def test_clients_that_saw_nothing_wrong_change_nothing() -> None:
    for integrity in (WHOLE, GAP):
        verdict = judge(totals(), integrity, is_drained=True)
        assert with_clients(verdict, SEEN, is_drained=True) == verdict


@pytest.mark.parametrize(
    ("name", "text"), [("lost", "received by none"), ("unexpected", "sent by none"), ("corrupted", "another body")]
)
def test_what_clients_saw_is_a_violation_whatever_the_journal_says(name: str, text: str) -> None:
    proven = with_clients(judge(totals(), WHOLE, is_drained=True), SEEN | {name: 2}, is_drained=True)
    unproven = with_clients(judge(totals(), GAP, is_drained=True), SEEN | {name: 2}, is_drained=True)

    assert (proven.state, proven.lost) == (State.VIOLATED, 2 if name == "lost" else 0)
    assert proven.reasons[0].startswith("2 messages")
    assert text in proven.reasons[0]
    assert len(proven.reasons) == 1
    assert (unproven.state, unproven.lost_text) == (State.VIOLATED, "unproven")
    assert "touched by gaps" in unproven.reasons[1]


def test_what_came_to_no_client_is_not_lost_where_nobody_received() -> None:
    verdict = judge(totals(), WHOLE, is_drained=False)

    assert with_clients(verdict, SEEN | {"lost": 9}, is_drained=False) == verdict


def test_loss_rate_is_told_of_a_proven_loss_only() -> None:
    lossy, corrupt = totals(not_received=4), totals(corrupted=1)

    assert judge(lossy, WHOLE, is_drained=True).loss_rate(lossy) == 0.004
    assert judge(corrupt, WHOLE, is_drained=True).loss_rate(corrupt) == 0.001
    assert judge(lossy, GAP, is_drained=True).loss_rate(lossy) is None
    assert judge(Totals(), WHOLE, is_drained=True).loss_rate(Totals()) is None
