"""A period of time to audit, also on running servers: what of it is judged, and whether it is completely logged.

                 since                      until                the store is read            needed
    ───────────────┼──────────────────────────┼──────────────────────┼──────────┼───────────────┼────►
    may explain    │ judged                   │ explains; not judged            └── margin ─────┘

A running server has not closed its file. That is no gap if its lines extend to `needed`: everything that it logged
before its latest line is written, and an idle server logs signs of life. A server that was killed proves nothing
between its last line and the start of the next incarnation.

Events missing within the window are a gap: nothing is proven. Events missing before or after it may explain an apparent
violation in it, and otherwise do not matter.

The store is read first, then the journals, up to a margin later: by then, deletes made before the store was read are
logged.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import Enum

from spark_jobs.counted import counted
from spark_jobs.findings import Kind
from spark_jobs.gaps import Gap
from spark_jobs.integrity import Integrity
from spark_jobs.reach import EVERYTHING, Reach
from spark_jobs.totals import Totals


class _Place(Enum):
    WITHIN = "within"
    BEFORE = "before"
    AFTER = "after"


@dataclass(frozen=True, slots=True)
class Window:
    """Times in ms, both ends inclusive. `since_ms` 0: from the beginning of the journal."""

    since_ms: int
    until_ms: int
    needed_ms: int
    """The time up to which the journals must be complete, so that nothing missing from them can explain a finding."""
    skew_ms: int = 0
    """How far clocks may differ."""
    reach: Reach = EVERYTHING
    """When something may have happened that matters to it."""

    def judged(self, integrity: Integrity) -> Integrity:
        """Keeps the gaps that touch the window; separates those before and after it that may explain a finding."""
        gaps, before, after = ([gap for gap in integrity.gaps if self._place_of(gap) is place] for place in _Place)
        return replace(integrity, gaps=gaps, before=before, after=after)

    def _place_of(self, gap: Gap) -> _Place | None:
        """None: so early or so late that it does not matter."""
        if gap.until_ms is not None and gap.until_ms + self.skew_ms < self.since_ms:
            return _Place.BEFORE if gap.until_ms + self.skew_ms >= self.reach.from_ms else None
        if gap.from_ms is None or gap.from_ms - self.skew_ms <= self.until_ms:
            return _Place.WITHIN
        return _Place.AFTER if gap.from_ms - self.skew_ms <= self.needed_ms else None

    def begun_with(self, began_ms: int) -> Window:
        """Limited to the time since the journal began: nothing before that is logged, or missing."""
        return replace(self, since_ms=max(self.since_ms, min(began_ms, self.until_ms)))

    def __str__(self) -> str:
        return f"from {moment_text(self.since_ms)} until {moment_text(self.until_ms)}"

    def told(self, totals: Totals) -> str:
        """What became of its messages, in a sentence."""
        ended = totals.deleted + totals.ended_otherwise
        waiting = totals.acknowledged - ended - (totals.of(Kind.LOST) - totals.lost_older)
        return f"{self}: {counted(totals.acknowledged, 'message(|s) sent')}, {ended} ended, {waiting} not settled yet"

    def told_unread(self, files: int) -> str:
        """That so many files were not read, in a sentence."""
        parts = [f"before {moment_text(self.reach.from_ms)}"] * (self.reach.from_ms > 0)
        parts += [] if self.reach.until_ms is None else [f"after {moment_text(self.reach.until_ms)}"]
        return f"{counted(files, 'file(|s) (was|were)')} not read: what happened {' or '.join(parts)} can't matter"


def moment_text(ms: int) -> str:
    """To the second; the number itself if there is no such date, as a million days ago."""
    try:
        return f"{datetime.fromtimestamp(ms // 1_000, UTC):%Y-%m-%dT%H:%M:%SZ}"
    except (ValueError, OverflowError, OSError):
        return f"{ms} ms"
