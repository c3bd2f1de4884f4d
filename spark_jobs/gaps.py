"""What is missing from a journal."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class GapKind(StrEnum):
    """Why events are missing."""

    MISSING = "missing events"
    NO_END = "no closing line"
    NO_LAST = "the last file is missing"
    NO_PREDECESSOR = "an earlier incarnation is missing"
    DROPPED = "events dropped by the server"
    DAMAGED = "checksum differs"
    TORN = "damaged file"
    UNREADABLE = "unreadable file"


CHANGED = {GapKind.DAMAGED, GapKind.TORN}
"""What was read there may differ from what was written."""


@dataclass(frozen=True, slots=True)
class Gap:
    """Missing events; `lines`: their number, None = unknown. A time of None = unbounded."""

    kind: GapKind
    node: str
    incarnation: str
    path: str
    lines: int | None
    from_ms: int | None
    until_ms: int | None


def in_order(from_ms: int | None, until_ms: int | None) -> tuple[int | None, int | None]:
    """The times before and after a gap, the earlier one first: the node's clock may have been set back in it."""
    if from_ms is None or until_ms is None or from_ms <= until_ms:
        return from_ms, until_ms
    return until_ms, from_ms
