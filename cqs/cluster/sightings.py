"""Detects clock differences between nodes, as far as their beats prove them. A beat's stamp is the time on its node's
clock; this node's clock bounds when that can have been.

    this node's looks    q: not yet the one before     p: the one before       t: this beat
                         ├──────────────────────────────┼───────────────────────┤
    the other node           beat before is written ─ then ─ stamps this beat ─ writes it

A beat is stamped after the previous one was written (look q did not find that one) and before look t found it. So a
stamp later than t proves that the clock is ahead, and one earlier than q that it is behind. Delays in writing or
looking only widen the interval from q to t, and so prove less.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class _Sighting:
    stamp_ms: int
    missed_ms: int | None
    """The start of the last look that did not find it; None = it was there at the first look."""
    off_ms: int
    """The least that the clock is off; > 0 = ahead."""


class Sightings:
    """Times are milliseconds of this node's clock, stamps of the other node's."""

    def __init__(self) -> None:
        self._last: dict[str, _Sighting] = {}
        self._looked_ms: int | None = None

    def look(self, stamps: Iterable[tuple[str, int]], begin_ms: int, end_ms: int) -> None:
        """Records what a look between these times found of the other nodes, by name."""
        last, self._last = self._last, {}
        for name, stamp_ms in stamps:
            known = last.get(name)
            if known is None or known.stamp_ms != stamp_ms:
                off_ms = _off_ms(known, stamp_ms, end_ms)
                known = _Sighting(stamp_ms, self._looked_ms, off_ms)
            self._last[name] = known
        self._looked_ms = begin_ms

    def off_ms(self, name: str) -> int:
        """The least that the node's clock differs from this one's, as proved by its last beat; > 0 = ahead, 0 =
        unknown."""
        known = self._last.get(name)
        return 0 if known is None else known.off_ms


def _off_ms(before: _Sighting | None, stamp_ms: int, end_ms: int) -> int:
    if stamp_ms > end_ms:
        return stamp_ms - end_ms
    if before is None or before.missed_ms is None or stamp_ms < before.stamp_ms:
        return 0
    return min(0, stamp_ms - before.missed_ms)
