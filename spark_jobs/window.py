"""A part of the time, also of servers that run: what of it is judged, and whether all of it is known.

                 since                      until                the store is read            needed
    ───────────────┼──────────────────────────┼──────────────────────┼──────────┼───────────────┼────►
    may explain    │ judged                   │ explains; not judged            └── margin ─────┘

A server that runs has not closed its file. That is no gap when its lines go on until what is needed: all that it told
before its latest line is written, and a quiet one tells that it lives. One that was killed proves nothing after its
last line, up to the start of the next incarnation.

What is missing in the window is a gap: nothing is proven. What is missing before or after it may explain what looks
wrong in it, and else is nobody's concern.

The store is read first, then the journals, up to a margin after: what was deleted before it was read is told by then.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import Enum

from spark_jobs.counted import counted
from spark_jobs.findings import Kind
from spark_jobs.gaps import Gap
from spark_jobs.integrity import Integrity
from spark_jobs.totals import Totals


class _Place(Enum):
    WITHIN = "within"
    BEFORE = "before"
    AFTER = "after"


@dataclass(frozen=True, slots=True)
class Window:
    """Times in ms, both ends included. `since_ms` 0: from the beginning of the journal."""

    since_ms: int
    until_ms: int
    needed_ms: int
    """Until when the journals have to tell all, so that nothing they do not tell explains what is found."""
    skew_ms: int = 0
    """How far clocks may differ."""

    def judged(self, integrity: Integrity) -> Integrity:
        """With the gaps that touch the window; those before and after it, as far as they may explain, apart."""
        gaps, before, after = ([gap for gap in integrity.gaps if self._place_of(gap) is place] for place in _Place)
        return replace(integrity, gaps=gaps, before=before, after=after)

    def _place_of(self, gap: Gap) -> _Place | None:
        """None: it is later than what is needed."""
        if gap.until_ms is not None and gap.until_ms + self.skew_ms < self.since_ms:
            return _Place.BEFORE
        if gap.from_ms is None or gap.from_ms - self.skew_ms <= self.until_ms:
            return _Place.WITHIN
        return _Place.AFTER if gap.from_ms - self.skew_ms <= self.needed_ms else None

    def begun_with(self, began_ms: int) -> Window:
        """As far as there was a journal, which began then: of what was before, nothing is told or missed."""
        return replace(self, since_ms=max(self.since_ms, min(began_ms, self.until_ms)))

    def __str__(self) -> str:
        return f"from {moment_text(self.since_ms)} until {moment_text(self.until_ms)}"

    def told(self, totals: Totals) -> str:
        """What became of its messages."""
        ended = totals.deleted + totals.ended_otherwise
        waiting = totals.acknowledged - ended - (totals.of(Kind.LOST) - totals.lost_older)
        return f"{self}: {counted(totals.acknowledged, 'message(|s) sent')}, {ended} ended, {waiting} not settled yet"


def moment_text(ms: int) -> str:
    """To the second."""
    return f"{datetime.fromtimestamp(ms // 1_000, UTC):%Y-%m-%dT%H:%M:%SZ}"
