"""What the figures prove. Pure, so that every case is tested without Spark.

    violated    something happened that must not happen: certain whatever is missing from the journal, unless one of its
                lines was changed
    unproven    nothing of that kind was seen, but events are missing, messages were sampled, or some have no end yet;
                or missing events, or a node whose journal was not given, may explain it (`spark_jobs.absence`)
    proven      the journal is complete, every acknowledged message was accounted for, and no promise was broken

"lost 0" is a proof, so it is never printed across a gap.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from spark_jobs.counted import counted
from spark_jobs.findings import Kind
from spark_jobs.gaps import CHANGED
from spark_jobs.integrity import Integrity
from spark_jobs.reasons import (
    BY_CLOCKS,
    CERTAIN,
    CERTAIN_WHEN_WHOLE,
    OF_ITS_PAST,
    absent_in,
    doubts_of,
    earlier,
    missing_in,
    told,
    unended,
)
from spark_jobs.reconcile import Reconciled
from spark_jobs.totals import Totals


class State(StrEnum):
    PROVEN = "proven"
    VIOLATED = "violated"
    UNPROVEN = "unproven"


EXIT_CODES = {State.PROVEN: 0, State.VIOLATED: 1, State.UNPROVEN: 3}


@dataclass(frozen=True, slots=True)
class Verdict:
    """`lost` None = not proven. `reasons`: one sentence each, for people."""

    state: State
    lost: int | None
    reasons: tuple[str, ...]

    @property
    def lost_text(self) -> str:
        return f"{self.lost}" if self.lost is not None else "unproven"

    def loss_rate(self, totals: Totals) -> float | None:
        """ε; None when the loss is not proven."""
        return None if self.lost is None else self.lost / max(1, totals.acknowledged)


def judge(totals: Totals, integrity: Integrity, *, is_drained: bool, store: Reconciled | None = None) -> Verdict:
    """`is_drained`: receivers ran until the queues were empty, so what was not received is lost. `store`: the result of
    reconciling with the store; None = not reconciled."""
    waiting = totals.of(Kind.NOT_RECEIVED)
    lost = (store.lost if store is not None else 0) + (waiting if is_drained else 0)
    lost += totals.of(Kind.CORRUPTED) - totals.lost_twice
    by_clocks = BY_CLOCKS if totals.skew_ms else set()
    wrong = told(totals, CERTAIN, but=by_clocks)
    past = told(totals, CERTAIN_WHEN_WHOLE, but=by_clocks | (set(Kind) - OF_ITS_PAST))
    explicable = told(totals, CERTAIN_WHEN_WHOLE, but=by_clocks | OF_ITS_PAST)
    if lost > totals.of(Kind.CORRUPTED):
        explicable.append(counted(lost - totals.of(Kind.CORRUPTED), "acknowledged message(|s) (is|are) lost"))
    missing = missing_in(integrity)
    excuse = missing or absent_in(totals)
    doubts = doubts_of(totals, integrity) + earlier(totals, has_store=store is not None)
    doubts += tuple(
        f"{text}: or clocks explain it, which differ by {totals.skew_ms} ms at least (--clock-skew-ms)"
        for text in told(totals, CERTAIN | CERTAIN_WHEN_WHOLE, but=set(Kind) - by_clocks)
    )
    if store is None:
        doubts += unended(totals, 0 if is_drained else waiting)
    for texts, why in ((explicable, excuse), (past, excuse or ("a line that is missing" if integrity.before else ""))):
        excused = tuple(f"{text}: or {why} explains it" for text in texts if why)
        doubts = (*doubts, *excused) if missing else (*excused, *doubts)
        wrong += [] if why else texts
    if any(gap.kind in CHANGED for gap in (*integrity.gaps, *integrity.before, *integrity.after)):
        doubts = (*(f"{text}, unless a changed line says so" for text in wrong), *doubts)
        wrong = []
    if wrong:
        is_told = not excuse and (lost or not doubts)
        return Verdict(State.VIOLATED, lost if is_told else None, (*wrong, *doubts))
    if doubts:
        return Verdict(State.UNPROVEN, None, doubts)
    return Verdict(State.PROVEN, lost, ("the journal is complete and every acknowledged message is accounted for",))


_SEEN_BY_CLIENTS = {
    "lost": "message(|s) (was|were) acknowledged to a client, and received by none",
    "unexpected": "message(|s) (was|were) received by a client, and sent by none",
    "corrupted": "message(|s) (was|were) received by a client with another body than (it was|they were) sent with",
}


def with_clients(verdict: Verdict, seen: Mapping[str, int], *, is_drained: bool) -> Verdict:
    """Adds what the clients saw (`spark_jobs.jepsen.total_queue`), which needs no journal and is certain. Messages that
    no client received count if `is_drained`."""
    wrong = [
        counted(seen[name], text)
        for name, text in _SEEN_BY_CLIENTS.items()
        if seen[name] and (is_drained or name != "lost")
    ]
    if not wrong:
        return verdict
    lost = None if verdict.lost is None else max(verdict.lost, seen["lost"] if is_drained else 0)
    others = () if verdict.state is State.PROVEN else verdict.reasons
    return replace(verdict, state=State.VIOLATED, lost=lost, reasons=(*wrong, *others))


def last_line(totals: Totals, verdict: Verdict, report: str) -> str:
    """The last line of a run's output."""
    return (
        f"verdict: acknowledged {totals.acknowledged} lost {verdict.lost_text} duplicates {totals.duplicates} "
        f"(λ {totals.duplicate_rate:.2g}) out-of-order {totals.out_of_order:.3%} "
        f"displacement {totals.displacement:.3g} {verdict.state.value} report {report}"
    )
