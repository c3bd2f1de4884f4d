"""Charts: recent activity, in rings of fixed size, at three resolutions.

    every 5 s for 10 min      every minute for 6 h      every 30 min for 7 days
    ├──┼──┼──┼──┤ 120         ├────┼────┼────┤ 360      ├───────┼───────┤ 336

A ring holds some sums (messages sent in the period) and some peaks (backlog) as 32-bit floats: 816 points of eighteen
fields are 58,752 bytes per queue, whatever its activity. A period without a sample is empty (NaN), not zero.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from math import isnan, nan

import msgspec

SAMPLE_S = 5
RESOLUTIONS = ((SAMPLE_S, 120), (60, 360), (1_800, 336))
"""Length of a period in seconds, and how many are kept."""
RANGES = {"5m": 300, "10m": 600, "1h": 3_600, "6h": 21_600, "1d": 86_400, "7d": 604_800}
"""Seconds, by the names shown to users."""

QUEUE_SUMS = (
    "sent", "received", "deleted", "empty_receives", "from_store", "dead_lettered", "first_receives", "waited_ms",
)  # fmt: skip
NODE_SUMS = (*QUEUE_SUMS, "calls", "errors")
DEPTHS = ("visible", "in_flight", "delayed", "oldest_s")
QUEUE_TIMES = (
    "send_half_ms", "send_most_ms", "receive_half_ms", "receive_most_ms", "delete_half_ms", "delete_most_ms",
)  # fmt: skip
"""Time within which half, and 99 %, of the calls of the last SAMPLE_S were done; 0 = there were none. A longer period
has the maximum."""
QUEUE_PEAKS = (*DEPTHS, *QUEUE_TIMES)
NODE_PEAKS = (*DEPTHS, "waiting", "send_half_ms", "send_most_ms", "cache_most_ms", "store_most_ms")


class Chart(msgspec.Struct, frozen=True, kw_only=True):
    """Points of one ring, oldest first. `rows[i]` is the period that starts at `start_s + i * period_s` (Unix time);
    its values are in the order of `fields`, None = nothing was sampled."""

    fields: tuple[str, ...]
    start_s: int
    period_s: int
    rows: list[list[float | None]]


class Ring:
    """The ring of one queue, or of the node. Call `add` once every SAMPLE_S."""

    __slots__ = ("_levels", "_sums", "fields", "last")

    def __init__(self, sums: Sequence[str], peaks: Sequence[str]) -> None:
        self.fields = (*sums, *peaks)
        self._sums = len(sums)
        self._levels = [_Level(period_s, size, len(self.fields)) for period_s, size in RESOLUTIONS]
        self.last: tuple[int, ...] = (0,) * len(sums)
        """The counters at the last sample, for the sampler."""

    @property
    def size_bytes(self) -> int:
        return sum(level.cells.itemsize * len(level.cells) for level in self._levels)

    def add(self, at_s: int, values: Sequence[float]) -> None:
        """Adds a sample: growth since the last one, then current values, in the order of `fields`."""
        for level in self._levels:
            level.add(at_s, values, self._sums)

    def chart(self, range_s: int, now_s: int) -> Chart:
        """The last `range_s` seconds in the finest resolution that reaches back that far."""
        level, count = self._level(range_s)
        end = now_s // level.period_s + 1
        rows = [level.row(slot) for slot in range(end - count, end)]
        start_s = (end - count) * level.period_s
        return Chart(fields=self.fields, start_s=start_s, period_s=level.period_s, rows=rows)

    def _level(self, range_s: int) -> tuple[_Level, int]:
        """The finest resolution that reaches back that far, and how many of its periods are needed."""
        level = next((one for one in self._levels if one.period_s * one.size >= range_s), self._levels[-1])
        return level, min(-(-range_s // level.period_s), level.size)

    def series(self, fields: Sequence[int], range_s: int, now_s: int) -> list[list[float | None]]:
        """Like `chart`, but only the values of these fields (by index): a list for each."""
        level, count = self._level(range_s)
        end = now_s // level.period_s + 1
        return [level.column(field, end - count, end) for field in fields]

    def recent(self, now_s: int) -> dict[str, float]:
        """Sums and peaks of the last ten minutes."""
        fine = self._levels[0]
        columns = fine.columns(now_s // fine.period_s)
        return {
            field: sum(column) if place < self._sums else max(column, default=0.0)
            for place, (field, column) in enumerate(zip(self.fields, columns, strict=True))
        }


def _without_gaps(column: array[float]) -> list[float]:
    """The values that are not NaN. (A sum with a NaN is NaN.)"""
    return [value for value in column if value == value]


class _Level:
    """One resolution: `size` slots of `width` cells; a slot is the time divided by the period."""

    __slots__ = ("cells", "period_s", "size", "slot", "width")

    def __init__(self, period_s: int, size: int, width: int) -> None:
        self.period_s = period_s
        self.size = size
        self.width = width
        self.slot = -1
        self.cells = array("f", [nan]) * (size * width)

    def add(self, at_s: int, values: Sequence[float], sums: int) -> None:
        slot = at_s // self.period_s
        if slot < self.slot:
            self._forget_after(slot)
        start = slot % self.size * self.width
        if slot == self.slot and not isnan(self.cells[start]):
            self._combine(start, values, sums)
            return
        self._clear_up_to(slot)
        self.slot = slot
        self.cells[start : start + self.width] = array("f", values)

    def row(self, slot: int) -> list[float | None]:
        if not self.slot - self.size < slot <= self.slot or self.slot < 0:
            return [None] * self.width
        start = slot % self.size * self.width
        return [None if isnan(value) else value for value in self.cells[start : start + self.width]]

    def column(self, place: int, start: int, end: int) -> list[float | None]:
        """One cell of each slot from `start` up to `end`, at most `size` slots."""
        first, last = max(start, self.slot - self.size + 1), min(end, self.slot + 1)
        if self.slot < 0 or first >= last:
            return [None] * (end - start)
        cells = self.cells[place :: self.width]
        begin, stop = first % self.size, (last - 1) % self.size + 1
        found = cells[begin:stop] if begin < stop else cells[begin:] + cells[:stop]
        known = [value if value == value else None for value in found]
        return [None] * (first - start) + known + [None] * (end - last)

    def columns(self, last: int) -> Sequence[Sequence[float]]:
        """The samples of the `size` slots up to `last`, by field."""
        if self.slot <= last < self.slot + self.size:
            found = [self.cells[place :: self.width] for place in range(self.width)]
            stale = sorted({slot % self.size for slot in range(self.slot - self.size + 1, last - self.size + 1)})
            for place in reversed(stale):
                for column in found:
                    del column[place]
            return [column if (whole := sum(column)) == whole else _without_gaps(column) for column in found]
        rows = [self.row(slot) for slot in range(last - self.size + 1, last + 1)]
        return [[value for row in rows if (value := row[place]) is not None] for place in range(self.width)]

    def _combine(self, start: int, values: Sequence[float], sums: int) -> None:
        cells = self.cells
        for place, value in enumerate(values, start):
            cells[place] = cells[place] + value if place < start + sums else max(cells[place], value)

    def _clear_up_to(self, slot: int) -> None:
        """Clears the periods without samples."""
        self._clear(range(max(self.slot + 1, slot - self.size), slot))

    def _forget_after(self, slot: int) -> None:
        """Clears the slots after `slot`, which are in the future since the clock was set back."""
        self._clear(range(max(slot + 1, self.slot - self.size + 1), self.slot + 1))
        self.slot = slot

    def _clear(self, slots: Iterable[int]) -> None:
        empty = array("f", [nan]) * self.width
        for slot in slots:
            start = slot % self.size * self.width
            self.cells[start : start + self.width] = empty
