"""What the figures prove: pure, so that every case of it is tested without Spark.

    violated    something happened that must not: certain whatever is missing from the journal, unless a line of it
                was changed
    unproven    nothing of that kind was seen, but events are missing, messages were sampled, or some still wait; or it
                may be explained by a node whose journal is not here (`spark_jobs.absence`)
    proven      the journal is whole, every acknowledged message was accounted for, and no promise was broken

"lost 0" is a proof, so it is never printed over a gap.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import PurePosixPath

from spark_jobs.findings import Kind
from spark_jobs.integrity import CHANGED, Gap, Integrity
from spark_jobs.reconcile import Reconciled


class State(StrEnum):
    PROVEN = "proven"
    VIOLATED = "violated"
    UNPROVEN = "unproven"


EXIT_CODES = {State.PROVEN: 0, State.VIOLATED: 1, State.UNPROVEN: 3}


@dataclass(frozen=True, slots=True)
class Totals:
    """Over all queues."""

    acknowledged: int = 0
    """Messages sent, or moved in; M of the formulas."""
    received: int = 0
    deleted: int = 0
    ended_otherwise: int = 0
    """Moved on, expired, purged, or gone with their queue."""
    duplicates: int = 0
    holes: int = 0
    """Messages whose beginning or end is not in the journal."""
    out_of_order: float = 0.0
    displacement: float = 0.0
    found: Mapping[str, int] | None = None
    """Findings by kind."""
    signs: Mapping[str, int] | None = None
    """Of somebody whose journal is not here (`spark_jobs.absence`); None = nobody else took part, or there is
    nothing to explain."""

    def of(self, kind: Kind) -> int:
        return (self.found or {}).get(kind.value, 0)

    @property
    def duplicate_rate(self) -> float:
        """λ."""
        return self.duplicates / self.acknowledged if self.acknowledged else 0.0


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


_FILES_NAMED = 3
_CERTAIN = {
    Kind.CORRUPTED: "arrived with another checksum than they were sent with",
    Kind.RESURRECTED: "deliveries came after the delete was acknowledged",
    Kind.STORED_CORRUPTED: "messages lie in the store with another checksum than they were sent with",
}
_CERTAIN_WHEN_WHOLE = {
    Kind.UNEXPECTED: "messages were received that nobody sent",
    Kind.HIDDEN_TOO_SHORT: "deliveries came while another receive held the message",
    Kind.FIFO_ORDER: "FIFO deliveries overtook an earlier message of their group",
    Kind.FIFO_TWO_CONSUMERS: "FIFO deliveries came while another call held their group",
    Kind.ORPHAN: "messages lie in the store that nobody sent",
    Kind.STILL_STORED: "messages lie in the store although they ended",
}
_SIGNS = {
    "unsent": "messages that nobody sent",
    "unreceived": "messages that were deleted and nobody received",
    "untaken": "receive numbers that nobody got",
    "silent": "queues that nobody received from",
}


def judge(totals: Totals, integrity: Integrity, *, is_drained: bool, store: Reconciled | None = None) -> Verdict:
    """`is_drained`: receivers went on until nothing came, so what was not received is lost. `store`: what reconciling
    with the store found; None = not reconciled."""
    has_gaps = bool(integrity.gaps)
    waiting = totals.of(Kind.NOT_RECEIVED)
    is_accounted = is_drained or store is not None or waiting == 0
    lost = store.lost if store is not None else 0
    lost = max(lost, waiting) if is_drained else lost
    lost += totals.of(Kind.CORRUPTED)
    wrong = _told(totals, _CERTAIN)
    explicable = _told(totals, _CERTAIN_WHEN_WHOLE)
    if lost > totals.of(Kind.CORRUPTED):
        explicable.append(f"{lost - totals.of(Kind.CORRUPTED)} acknowledged messages are lost")
    absent = _absent(totals)
    is_certain = not has_gaps and not absent
    if is_certain:
        wrong += explicable
    doubts = _doubts(totals, integrity, 0 if is_accounted else waiting)
    if absent and not has_gaps:
        doubts = (*(f"{text}: or {absent} explains it" for text in explicable), *doubts)
    if any(gap.kind in CHANGED for gap in integrity.gaps):
        doubts = (*(f"{text}, unless a changed line says so" for text in wrong), *doubts)
        wrong = []
    if wrong:
        return Verdict(State.VIOLATED, lost if is_certain else None, (*wrong, *doubts))
    if doubts:
        return Verdict(State.UNPROVEN, None, doubts)
    return Verdict(State.PROVEN, lost, ("the journal is whole and every acknowledged message is accounted for",))


def _told(totals: Totals, texts: Mapping[Kind, str]) -> list[str]:
    return [f"{totals.of(kind)} {text}" for kind, text in texts.items() if totals.of(kind)]


def _absent(totals: Totals) -> str:
    """Who may explain what looks wrong, and why; "" = nobody."""
    if totals.signs is None:
        return ""
    signs = {name: totals.signs.get(name, 0) for name in _SIGNS}
    signs["unsent"] = max(signs["unsent"], totals.of(Kind.UNEXPECTED), totals.of(Kind.ORPHAN))
    seen = ", ".join(f"{count} {_SIGNS[name]}" for name, count in signs.items() if count)
    return f"a node whose journal is not here ({seen})" if seen else ""


_SEEN_BY_CLIENTS = {
    "lost": "messages were acknowledged to a client, and came to none",
    "unexpected": "messages came to a client, and none had sent them",
    "corrupted": "messages came to a client with another body than they were sent with",
}


def with_clients(verdict: Verdict, seen: Mapping[str, int], *, is_drained: bool) -> Verdict:
    """And what the clients saw (`spark_jobs.jepsen.total_queue`), which needs no journal and is certain. What came to
    none counts when `is_drained`."""
    wrong = [
        f"{seen[name]} {text}"
        for name, text in _SEEN_BY_CLIENTS.items()
        if seen[name] and (is_drained or name != "lost")
    ]
    if not wrong:
        return verdict
    lost = None if verdict.lost is None else max(verdict.lost, seen["lost"] if is_drained else 0)
    others = () if verdict.state is State.PROVEN else verdict.reasons
    return replace(verdict, state=State.VIOLATED, lost=lost, reasons=(*wrong, *others))


def _doubts(totals: Totals, integrity: Integrity, waiting: int) -> tuple[str, ...]:
    doubts: list[str] = []
    if integrity.gaps:
        doubts.append(
            f"{totals.holes} messages touched by gaps: {integrity.missing_text} events of the journal are missing or "
            f"changed ({_named(integrity.gaps)}){_pruned(integrity.pruned)}"
        )
    if integrity.sampled > 1:
        unseen = totals.acknowledged * (integrity.sampled - 1)
        doubts.append(f"about {unseen} messages touched by sampling: one in {integrity.sampled} was written down")
    if waiting:
        doubts.append(f"{waiting} messages wait, or are lost: drain the queues or reconcile with the store")
    if totals.acknowledged == 0:
        doubts.append("there is nothing to audit: no message was sent")
    return tuple(doubts)


def _named(gaps: Sequence[Gap]) -> str:
    """Why, and in which files."""
    files: dict[str, list[str]] = {}
    for gap in gaps:
        files.setdefault(gap.kind.value, []).append(PurePosixPath(gap.path).name)
    return "; ".join(f"{kind}: {_few(sorted(set(names)))}" for kind, names in sorted(files.items()))


def _pruned(files: int) -> str:
    return f"; {files} files were pruned to keep to the disk's budget" if files else ""


def _few(names: Sequence[str]) -> str:
    more = f" and {len(names) - _FILES_NAMED} more" if len(names) > _FILES_NAMED else ""
    return ", ".join(names[:_FILES_NAMED]) + more


def last_line(totals: Totals, verdict: Verdict, report: str) -> str:
    """The line that a run ends with."""
    return (
        f"verdict: acknowledged {totals.acknowledged} lost {verdict.lost_text} duplicates {totals.duplicates} "
        f"(λ {totals.duplicate_rate:.2g}) out-of-order {totals.out_of_order:.3%} "
        f"displacement {totals.displacement:.3g} {verdict.state.value} report {report}"
    )
