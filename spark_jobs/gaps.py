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
