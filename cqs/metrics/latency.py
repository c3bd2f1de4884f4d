"""Recent durations of calls: how much the histograms of one metric grew since the last look."""

from __future__ import annotations

from collections.abc import Iterable

from cqs.metrics.declarations import Metric
from cqs.metrics.histogram import Histogram


class Lately:
    """Belongs to whoever samples; all histograms have the `bounds` of `metric`."""

    def __init__(self, metric: Metric) -> None:
        self._recent = Histogram.of(metric)
        self._seen = [0] * len(self._recent.counts)

    def look(self, histograms: Iterable[Histogram]) -> None:
        """From now on `quantile_ms` covers the values since the previous look."""
        counts = [sum(column) for column in zip(*(one.counts for one in histograms), strict=True)] or self._seen
        self._recent.counts = [max(0, now - before) for now, before in zip(counts, self._seen, strict=True)]
        self._seen = counts

    def quantile_ms(self, share: float) -> float:
        """The upper bound of the bucket in which that share is reached; 0 without values."""
        return self._recent.quantile(share) * 1_000
