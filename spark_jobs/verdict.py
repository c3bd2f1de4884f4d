"""What the figures prove: pure, so that every case of it is tested without Spark.

    violated    something happened that must not: certain whatever is missing from the journal, unless a line of it
                was changed
    unproven    nothing of that kind was seen, but events are missing, messages were sampled, or some have no end yet;
                or it may be explained by what is missing, or by a node whose journal is not here
                (`spark_jobs.absence`)
    proven      the journal is whole, every acknowledged message was accounted for, and no promise was broken

"lost 0" is a proof, so it is never printed over a gap.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
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
    held: int = 0
    """Received, and not ended."""
    holes: int = 0
    """Messages whose beginning or end is not in the journal."""
    out_of_order: float = 0.0
    displacement: float = 0.0
    found: Mapping[str, int] | None = None
    """Findings by kind."""
    skew_ms: int = 0
    """By how much, at least, clocks differ, where that is more than was allowed for."""
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
    Kind.RESURRECTED: "deliveries came after the message was deleted or moved",
    Kind.STORED_CORRUPTED: "messages lie in the store with another checksum than they were sent with",
}
_CERTAIN_WHEN_WHOLE = {
    Kind.UNEXPECTED: "messages were received that nobody sent",
    Kind.HIDDEN_TOO_SHORT: "deliveries came while another receive held the message",
    Kind.FIFO_ORDER: "FIFO deliveries overtook an earlier message of their group",
    Kind.FIFO_TWO_CONSUMERS: "FIFO deliveries came while another call held their group",
    Kind.NEVER_STORED: "sends were answered with the id of a message that nobody sent",
    Kind.ORPHAN: "messages lie in the store that nobody sent",
    Kind.STILL_STORED: "messages lie in the store although they ended",
}
_BY_CLOCKS = {Kind.RESURRECTED, Kind.HIDDEN_TOO_SHORT, Kind.FIFO_ORDER, Kind.FIFO_TWO_CONSUMERS}
_SIGNS = {
    "unsent": "messages that nobody sent",
    "unreceived": "messages that were deleted and nobody received",
    "untaken": "receive numbers that nobody got",
    "silent": "queues that nobody received from",
}


def judge(totals: Totals, integrity: Integrity, *, is_drained: bool, store: Reconciled | None = None) -> Verdict:
    """`is_drained`: receivers went on until nothing came, so what was not received is lost. `store`: what reconciling
    with the store found; None = not reconciled."""
    waiting = totals.of(Kind.NOT_RECEIVED)
    lost = store.lost if store is not None else 0
    lost = max(lost, waiting) if is_drained else lost
    lost += totals.of(Kind.CORRUPTED)
    by_clocks = _BY_CLOCKS if totals.skew_ms else set()
    wrong = _told(totals, _CERTAIN, but=by_clocks)
    explicable = _told(totals, _CERTAIN_WHEN_WHOLE, but=by_clocks)
    if lost > totals.of(Kind.CORRUPTED):
        explicable.append(f"{lost - totals.of(Kind.CORRUPTED)} acknowledged messages are lost")
    absent = _absent(totals)
    is_certain = integrity.is_whole and not absent
    doubts = _doubts(totals, integrity)
    doubts += tuple(
        f"{text}: or clocks explain it, which differ by {totals.skew_ms} ms at least (--clock-skew-ms)"
        for text in _told(totals, _CERTAIN | _CERTAIN_WHEN_WHOLE, but=set(Kind) - by_clocks)
    )
    if store is None:
        doubts += _unended(totals, 0 if is_drained else waiting)
    if is_certain:
        wrong += explicable
    elif integrity.is_whole:
        doubts = (*(f"{text}: or {absent} explains it" for text in explicable), *doubts)
    else:
        missing = "a line that is missing" if integrity.gaps else "a message that was not written down"
        doubts = (*doubts, *(f"{text}: or {missing} explains it" for text in explicable))
    if any(gap.kind in CHANGED for gap in integrity.gaps):
        doubts = (*(f"{text}, unless a changed line says so" for text in wrong), *doubts)
        wrong = []
    if wrong:
        return Verdict(State.VIOLATED, lost if is_certain else None, (*wrong, *doubts))
    if doubts:
        return Verdict(State.UNPROVEN, None, doubts)
    return Verdict(State.PROVEN, lost, ("the journal is whole and every acknowledged message is accounted for",))


def _told(totals: Totals, texts: Mapping[Kind, str], *, but: Collection[Kind]) -> list[str]:
    return [f"{totals.of(kind)} {text}" for kind, text in texts.items() if totals.of(kind) and kind not in but]


def _absent(totals: Totals) -> str:
    """Who may explain what looks wrong, and why; "" = nobody."""
    if totals.signs is None:
        return ""
    signs = {name: totals.signs.get(name, 0) for name in _SIGNS}
    unsent = (totals.of(kind) for kind in (Kind.UNEXPECTED, Kind.ORPHAN, Kind.NEVER_STORED))
    signs["unsent"] = max(signs["unsent"], *unsent)
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


def _unended(totals: Totals, waiting: int) -> tuple[str, ...]:
    """What only the store can tell from a loss."""
    told = (
        (waiting, "messages wait, or are lost: drain the queues or reconcile with the store"),
        (totals.held, "messages were received and never deleted, and wait again or are lost: reconcile with the store"),
    )
    return tuple(f"{count} {text}" for count, text in told if count)


def _doubts(totals: Totals, integrity: Integrity) -> tuple[str, ...]:
    doubts: list[str] = []
    if integrity.gaps:
        doubts.append(
            f"{totals.holes} messages touched by gaps: {integrity.missing_text} events of the journal are missing or "
            f"changed ({_named(integrity.gaps)}){_pruned(integrity.pruned)}"
        )
    if integrity.sampled > 1:
        unseen = totals.acknowledged * (integrity.sampled - 1)
        doubts.append(f"about {unseen} messages touched by sampling: one in {integrity.sampled} was written down")
    if totals.of(Kind.OLDER):
        doubts.append(f"{totals.of(Kind.OLDER)} messages are older than the journal, which can't tell who sent them")
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
