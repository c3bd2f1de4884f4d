"""Durations of the calls on one queue, counted in logarithmic buckets: one addition per call, fixed memory.

    bucket    0    1    2    3    4    5    6    7    8      9      10     11     12 …    79
    from      0    4    8    12   16   20   24   28   32     40     48     56     64 …    7.5 s      µs (times 1.024)

Each doubling of the time is divided into four buckets. The counts since the last look become two values of the queue's
chart, and are then reset.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from itertools import accumulate

BUCKETS = 80
_UNIT_NS = 4_096
_BOUNDS_NS = [_UNIT_NS * units for units in (1, 2, 3)]
_BOUNDS_NS += [_UNIT_NS * quarter << doubled for doubled in range(20) for quarter in (4, 5, 6, 7)][: BUCKETS - 4]
"""Upper bounds (exclusive) of all buckets but the last."""
_EMPTY = bytes(8 * BUCKETS)


class CallTimes:
    """Durations of calls of one kind. Belongs to one event loop."""

    __slots__ = ("_counts",)

    def __init__(self) -> None:
        self._counts = array("Q", _EMPTY)

    @property
    def size_bytes(self) -> int:
        return self._counts.itemsize * len(self._counts)

    def observe(self, took_ns: int) -> None:
        """Counts one call."""
        self._counts[bisect_right(_BOUNDS_NS, took_ns)] += 1

    def look(self) -> tuple[float, float]:
        """Milliseconds within which half of the calls since the last look were done, and 99 % of them: upper bounds of
        buckets, at most a quarter too high (plus 4 µs); 7.5 s for anything above. Zeros when there were no calls."""
        total = sum(self._counts)
        if not total:
            return 0.0, 0.0
        reached = list(accumulate(self._counts))
        self._counts = array("Q", _EMPTY)
        return _ms_of(bisect_left(reached, 0.5 * total)), _ms_of(bisect_left(reached, 0.99 * total))


def _ms_of(bucket: int) -> float:
    return _BOUNDS_NS[min(bucket, BUCKETS - 2)] / 1_000_000
