"""A histogram that costs a bisection and three additions. Scrapes cumulate its buckets, not this class."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate

from cqs.metrics.declarations import Metric

_NS = 1_000_000_000


class Histogram:
    """Counts integers (nanoseconds, bytes, jobs) in buckets; `unit` of them make one of the metric's base unit."""

    __slots__ = ("_bounds", "counts", "total", "unit")

    def __init__(self, bounds: Sequence[float], unit: int = _NS) -> None:
        self._bounds = [round(bound * unit) for bound in bounds]
        self.unit = unit
        self.counts = [0] * (len(bounds) + 1)
        """Per bucket, not cumulated; the last one counts everything above the bounds."""
        self.total = 0

    @classmethod
    def of(cls, metric: Metric, unit: int = _NS) -> Histogram:
        return cls(metric.bounds, unit)

    def observe(self, value: int) -> None:
        self.counts[bisect_left(self._bounds, value)] += 1
        self.total += value

    @property
    def count(self) -> int:
        return sum(self.counts)

    @property
    def sum(self) -> float:
        """In base units."""
        return self.total / self.unit

    def quantile(self, share: float) -> float:
        """The upper bound, in base units, of the bucket in which that share of the values is reached; the last bound
        for values above it, 0 without values."""
        count = self.count
        for bound, reached in zip(self._bounds, accumulate(self.counts), strict=False):
            if count and reached >= share * count:
                return bound / self.unit
        return self._bounds[-1] / self.unit if count else 0.0
