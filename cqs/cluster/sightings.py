"""Clocks of other nodes, as far as their beats prove that they differ. A beat's stamp says what its node's clock said;
this node's clock says since when and until when that can have been.

    this node's looks    q: not yet the one before     p: the one before       t: this beat
                         ├──────────────────────────────┼───────────────────────┤
    the other node           beat before is written ─ then ─ stamps this beat ─ writes it

A beat is stamped after the one before was written, which look q did not find, and before look t found it. So a stamp
later than t is of a clock that is ahead, one earlier than q of a clock that is behind, however late a beat is written
or looked at: that makes the time between q and t longer, and proves less.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class _Sighting:
    stamp_ms: int
    missed_ms: int | None
    """The begin of the last look that did not find it; None = it was there at the first look."""
    off_ms: int
    """How far the clock is off at least; > 0 = ahead."""


class Sightings:
    """Times are milliseconds of this node's clock, stamps of the other one's."""

    def __init__(self) -> None:
        self._last: dict[str, _Sighting] = {}
        self._looked_ms: int | None = None

    def look(self, stamps: Iterable[tuple[str, int]], begin_ms: int, end_ms: int) -> None:
        """What a look between these times found of the other nodes, by name."""
        last, self._last = self._last, {}
        for name, stamp_ms in stamps:
            known = last.get(name)
            if known is None or known.stamp_ms != stamp_ms:
                off_ms = _off_ms(known, stamp_ms, end_ms)
                known = _Sighting(stamp_ms, self._looked_ms, off_ms)
            self._last[name] = known
        self._looked_ms = begin_ms

    def off_ms(self, name: str) -> int:
        """How far that node's clock is off this one's at least, as its last beat proved; > 0 = ahead, 0 = not known."""
        known = self._last.get(name)
        return 0 if known is None else known.off_ms


def _off_ms(before: _Sighting | None, stamp_ms: int, end_ms: int) -> int:
    if stamp_ms > end_ms:
        return stamp_ms - end_ms
    if before is None or before.missed_ms is None or stamp_ms < before.stamp_ms:
        return 0
    return min(0, stamp_ms - before.missed_ms)
