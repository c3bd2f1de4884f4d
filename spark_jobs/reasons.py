"""What a verdict is given for, in sentences."""

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
    Kind.ORPHAN: "message(|s) (lies|lie) in the store that nobody sent",
    Kind.STILL_STORED: "message(|s) (lies|lie) in the store although (it|they) ended",
}
OF_ITS_PAST = {Kind.HIDDEN_TOO_SHORT, Kind.FIFO_ORDER, Kind.FIFO_TWO_CONSUMERS}
"""Of deliveries that are wrong for what was before, however long."""
BY_CLOCKS = {Kind.RESURRECTED, Kind.HIDDEN_TOO_SHORT, Kind.FIFO_ORDER, Kind.FIFO_TWO_CONSUMERS}
_SIGNS = {
    "unsent": "message(|s) that nobody sent",
    "unreceived": "message(|s) that (was|were) deleted and nobody received",
    "untaken": "receive number(|s) that nobody got",
    "silent": "queue(|s) that nobody received from",
}


def told(totals: Totals, texts: Mapping[Kind, str], *, but: Collection[Kind]) -> list[str]:
    """What was found of these kinds."""
    return [counted(totals.of(kind), text) for kind, text in texts.items() if totals.of(kind) and kind not in but]


def absent_in(totals: Totals) -> str:
    """Who may explain what looks wrong, and why; "" = nobody."""
    if totals.signs is None:
        return ""
    signs = {name: totals.signs.get(name, 0) for name in _SIGNS}
    unsent = (totals.of(kind) for kind in (Kind.UNEXPECTED, Kind.ORPHAN, Kind.NEVER_STORED))
    signs["unsent"] = max(signs["unsent"], *unsent)
    seen = ", ".join(counted(count, _SIGNS[name]) for name, count in signs.items() if count)
    return f"a node whose journal is not here ({seen})" if seen else ""


def unended(totals: Totals, waiting: int) -> tuple[str, ...]:
    """What only the store can tell from a loss."""
    parts = (
        (waiting, "message(|s) (waits|wait), or (is|are) lost: drain the queues or reconcile with the store"),
        (totals.of(Kind.NOT_DUE), "message(|s) (was|were) sent, or due, after receivers asked for the last time"),
        (
            totals.held,
            "message(|s) (was|were) received and never deleted, and (waits|wait) again or (is|are) lost: reconcile "
            "with the store",
        ),
    )
    return tuple(counted(count, text) for count, text in parts if count)


def earlier(totals: Totals, *, has_store: bool) -> tuple[str, ...]:
    """What nobody can tell to be the window's, or not."""
    why = "(is|are) not in the store" if has_store else "may be lost, which only the store can tell"
    text = f"message(|s) sent before the window did not end, and {why}: it may have been in the window"
    return (counted(totals.of(Kind.EARLIER), text),) if totals.of(Kind.EARLIER) else ()


def missing_in(integrity: Integrity) -> str:
    """What may explain what looks wrong, of the window or later; "" = nothing."""
    if integrity.gaps or integrity.after:
        return "a line that is missing"
    return "a message that was not written down" if integrity.sampled > 1 else ""


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
            f"about {counted(unseen, 'message(|s)')} touched by sampling: one in {integrity.sampled} was written down"
        )
    if older := totals.of(Kind.OLDER):
        doubts.append(
            counted(older, "message(|s) (is|are) older than the journal, which can't tell who sent (it|them)")
        )
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
    return f"; {counted(files, 'file(|s) (was|were)')} pruned to keep to the disk's budget" if files else ""


def _few(names: Sequence[str]) -> str:
    more = f" and {len(names) - _FILES_NAMED} more" if len(names) > _FILES_NAMED else ""
    return ", ".join(names[:_FILES_NAMED]) + more
