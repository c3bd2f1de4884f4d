"""The reasons for a verdict, as sentences."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import PurePosixPath

from spark_jobs.counted import counted
from spark_jobs.findings import Kind
from spark_jobs.gaps import Gap
from spark_jobs.integrity import Integrity
from spark_jobs.totals import Totals

_FILES_NAMED = 3
CERTAIN = {
    Kind.CORRUPTED: "message(|s) arrived with another checksum than (it was|they were) sent with",
    Kind.RESURRECTED: "deliver(y|ies) came after the message was deleted or moved",
    Kind.STORED_CORRUPTED: "message(|s) in the store (has|have) another checksum than (it was|they were) sent with",
}
CERTAIN_WHEN_WHOLE = {
    Kind.UNEXPECTED: "message(|s) (was|were) received that nobody sent",
    Kind.HIDDEN_TOO_SHORT: "deliver(y|ies) came while another receive held the message",
    Kind.FIFO_ORDER: "FIFO deliver(y|ies) overtook an earlier message of (its|their) group",
    Kind.FIFO_TWO_CONSUMERS: "FIFO deliver(y|ies) came while another call held (its|their) group",
    Kind.NEVER_STORED: "send(|s) (was|were) answered with the id of a message that nobody sent",
    Kind.ORPHAN: "message(|s) (is|are) in the store that nobody sent",
    Kind.STILL_STORED: "message(|s) (is|are) still in the store although (it|they) ended",
}
OF_ITS_PAST = {Kind.HIDDEN_TOO_SHORT, Kind.FIFO_ORDER, Kind.FIFO_TWO_CONSUMERS}
"""Kinds of deliveries that are wrong because of what happened before, however long ago."""
BY_CLOCKS = {Kind.RESURRECTED, Kind.HIDDEN_TOO_SHORT, Kind.FIFO_ORDER, Kind.FIFO_TWO_CONSUMERS}
_SIGNS = {
    "unsent": "message(|s) that nobody sent",
    "unreceived": "message(|s) that (was|were) deleted and nobody received",
    "untaken": "missing receive number(|s)",
    "silent": "queue(|s) that nobody received from",
}


def told(totals: Totals, texts: Mapping[Kind, str], *, but: Collection[Kind]) -> list[str]:
    """Sentences for the findings of these kinds."""
    return [counted(totals.of(kind), text) for kind, text in texts.items() if totals.of(kind) and kind not in but]


def absent_in(totals: Totals) -> str:
    """Which absent node may explain an apparent violation, and why; "" = none."""
    if totals.signs is None:
        return ""
    signs = {name: totals.signs.get(name, 0) for name in _SIGNS}
    unsent = (totals.of(kind) for kind in (Kind.UNEXPECTED, Kind.ORPHAN, Kind.NEVER_STORED))
    signs["unsent"] = max(signs["unsent"], *unsent)
    seen = ", ".join(counted(count, _SIGNS[name]) for name, count in signs.items() if count)
    return f"a node whose journal was not given ({seen})" if seen else ""


def unended(totals: Totals, waiting: int) -> tuple[str, ...]:
    """What only the store can distinguish from a loss."""
    parts = (
        (waiting, "message(|s) (is|are) still waiting or lost: drain the queues or reconcile with the store"),
        (totals.of(Kind.NOT_DUE), "message(|s) (was|were) sent or became visible after the last receive"),
        (
            totals.held,
            "message(|s) (was|were) received and never deleted, and (is|are) waiting again or lost: reconcile "
            "with the store",
        ),
    )
    return tuple(counted(count, text) for count, text in parts if count)


def earlier(totals: Totals, *, has_store: bool) -> tuple[str, ...]:
    """What may or may not belong to the window."""
    why = "(is|are) not in the store" if has_store else "may be lost, which only the store can tell"
    text = f"message(|s) sent before the window did not end, and {why}: it may have been in the window"
    return (counted(totals.of(Kind.EARLIER), text),) if totals.of(Kind.EARLIER) else ()


def missing_in(integrity: Integrity) -> str:
    """What may explain an apparent violation, in the window or later; "" = nothing."""
    if integrity.gaps or integrity.after:
        return "a line that is missing"
    return "a message that was not recorded" if integrity.sampled > 1 else ""


def doubts_of(totals: Totals, integrity: Integrity) -> tuple[str, ...]:
    """Why nothing can be proven, whatever was found."""
    doubts: list[str] = []
    if integrity.gaps:
        doubts.append(
            f"{counted(totals.holes, 'message(|s)')} touched by gaps: {integrity.missing_text} events of the journal "
            f"are missing or changed ({_named(integrity.gaps)}){_pruned(integrity.pruned)}"
        )
    if integrity.sampled > 1:
        unseen = totals.acknowledged * (integrity.sampled - 1)
        doubts.append(
            f"about {counted(unseen, 'message(|s)')} touched by sampling: one in {integrity.sampled} was recorded"
        )
    if older := totals.of(Kind.OLDER):
        doubts.append(
            counted(older, "message(|s) (is|are) older than the journal, which can't tell who sent (it|them)")
        )
    if totals.too_old:
        doubts.append(
            counted(totals.too_old, "message(|s) (is|are) older than --retention: name a longer one, to read more")
        )
    if totals.acknowledged == 0:
        doubts.append("there is nothing to audit: no message was sent")
    return tuple(doubts)


def _named(gaps: Sequence[Gap]) -> str:
    """The kinds of gaps, and the files concerned."""
    files: dict[str, list[str]] = {}
    for gap in gaps:
        files.setdefault(gap.kind.value, []).append(PurePosixPath(gap.path).name)
    return "; ".join(f"{kind}: {_few(sorted(set(names)))}" for kind, names in sorted(files.items()))


def _pruned(files: int) -> str:
    return f"; {counted(files, 'file(|s) (was|were)')} pruned to stay within the disk budget" if files else ""


def _few(names: Sequence[str]) -> str:
    more = f" and {len(names) - _FILES_NAMED} more" if len(names) > _FILES_NAMED else ""
    return ", ".join(names[:_FILES_NAMED]) + more
