"""How long the server took for calls on one queue, counted by the times' logarithms: an addition a call, fixed bytes.

    bucket    0    1    2    3    4    5    6    7    8      9      10     11     12 …    79
    from      0    4    8    12   16   20   24   28   32     40     48     56     64 …    7.5 s      µs (times 1.024)

Each time the time doubles there are four more. What was counted since the last look becomes two figures of the queue's
chart, and is forgotten.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from itertools import accumulate

BUCKETS = 80
_UNIT_NS = 4_096
_BOUNDS_NS = [_UNIT_NS * units for units in (1, 2, 3)]
_BOUNDS_NS += [_UNIT_NS * quarter << doubled for doubled in range(20) for quarter in (4, 5, 6, 7)][: BUCKETS - 4]
"""What the times in all buckets but the last are below."""
_EMPTY = bytes(8 * BUCKETS)


class CallTimes:
    """Of calls of one kind. Belongs to one event loop."""

    __slots__ = ("_counts",)

    def __init__(self) -> None:
        self._counts = array("Q", _EMPTY)

    @property
    def size_bytes(self) -> int:
        return self._counts.itemsize * len(self._counts)

    def observe(self, took_ns: int) -> None:
        """One call."""
        self._counts[bisect_right(_BOUNDS_NS, took_ns)] += 1

    def look(self) -> tuple[float, float]:
        """Milliseconds within which half of the calls since the last look were done, and 99 % of them: upper bounds of
        buckets, a quarter too high at most (and 4 µs); 7.5 s for all above. Zeros when there was none."""
        total = sum(self._counts)
        if not total:
            return 0.0, 0.0
        reached = list(accumulate(self._counts))
        self._counts = array("Q", _EMPTY)
        return _ms_of(bisect_left(reached, 0.5 * total)), _ms_of(bisect_left(reached, 0.99 * total))


def _ms_of(bucket: int) -> float:
    return _BOUNDS_NS[min(bucket, BUCKETS - 2)] / 1_000_000
