"""Everything that this process counts and measures, in one object that lives in the engine.

    MetricsWitness ──► queues ──┐
    Dispatcher ──────► calls    ├──► /metrics, /jmx      (cqs.metrics.collector, cqs.api)
    timed cache, store, commits ├──► charts              (cqs.service.statistics samples them)
    loop lag, watched values  ──┘

The owner of a value that is read rather than counted (open connections, the store's size) registers a reader with
`watch`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import msgspec

from cqs.metrics.calls import Calls
from cqs.metrics.declarations import (
    CACHE_SECONDS,
    COMMIT_JOBS,
    COMMIT_SECONDS,
    COMMIT_WAIT,
    DUE_LAG,
    FILL_SECONDS,
    LOOP_LAG,
    STORE_SECONDS,
    Kind,
    Metric,
)
from cqs.metrics.depths import Depths
from cqs.metrics.histogram import Histogram
from cqs.metrics.queue_stats import QueueStats
from cqs.metrics.queue_table import PLACES, QueueTable
from cqs.metrics.rings import NODE_PEAKS, NODE_SUMS, QUEUE_PEAKS, QUEUE_SUMS, Ring
from cqs.metrics.timed import LayerTimes
from cqs.metrics.witness import MetricsWitness
from cqs.store.report import StoreReport


class Build(msgspec.Struct, frozen=True, kw_only=True):
    """The versions and backends in use."""

    version: str = ""
    python: str = ""
    store: str = ""
    cache: str = ""


class NodeMetrics:
    """Belongs to the event loop; a scrape's thread may read. `is_leader`: whether this node exports what all nodes
    share; in one of several data centres, all but the depths of queues."""

    def __init__(
        self,
        *,
        places: int = PLACES,
        patterns: Sequence[str] = (),
        build: Build | None = None,
        started_ms: int = 0,
        is_leader: Callable[[], bool] = lambda: True,
    ) -> None:
        self.build = build or Build()
        self.started_ms = started_ms
        self.is_leader = is_leader
        self.store_report: Callable[[], StoreReport] = StoreReport
        """Where the data is, as far as known; called in the loop, queries nobody."""
        self.queues = QueueTable(places, patterns)
        self.depths = Depths()
        self.witness = MetricsWitness(self.queues, self.depths)
        self.calls = Calls()
        self.cache = LayerTimes(CACHE_SECONDS)
        self.store = LayerTimes(STORE_SECONDS)
        self.loop_lag = Histogram.of(LOOP_LAG)
        self.commit_jobs = Histogram.of(COMMIT_JOBS, 1)
        self.commit_wait = Histogram.of(COMMIT_WAIT)
        self.commit_duration = Histogram.of(COMMIT_SECONDS)
        self.fill_duration = Histogram.of(FILL_SECONDS)
        self.due_lag = Histogram.of(DUE_LAG)
        self.ring = Ring(NODE_SUMS, NODE_PEAKS)
        self._watched: dict[Metric, Callable[[], float]] = {}

    def watch(self, metric: Metric, read: Callable[[], float]) -> None:
        """`read` returns the value of a gauge, or of a counter kept by its owner; called in the loop, must be
        quick. A later reader replaces an earlier one."""
        assert metric.kind is not Kind.HISTOGRAM, f"{metric.name} can't be watched"
        assert not metric.labels, f"{metric.name} can't be watched"
        self._watched[metric] = read

    def watched(self) -> dict[Metric, float]:
        """Current values of the watched metrics; call in the loop."""
        return {metric: read() for metric, read in self._watched.items()}

    def commit_done(self, jobs: int, waited_ns: int, took_ns: int) -> None:
        """An observer of a group commit."""
        self.commit_jobs.observe(jobs)
        self.commit_wait.observe(waited_ns)
        self.commit_duration.observe(took_ns)

    def hit_ratio(self, now_s: int) -> float:
        """Share of received messages that the cache served in the last ten minutes; 1 when none was received."""
        recent = self.ring.recent(now_s)
        return ratio_of(recent)


def ratio_of(recent: Mapping[str, float]) -> float:
    """Cache hits as a share of receives, from the values of `Ring.recent`."""
    received = recent["received"]
    return 1.0 if not received else 1.0 - recent["from_store"] / received


def ring_of(stats: QueueStats, messages: int) -> Ring | None:
    """The queue's ring, created at its first traffic or when it is first seen with messages (dead letters, or messages
    found after a restart); None for a queue that never had any."""
    if stats.ring is None and (messages or any(getattr(stats, field) for field in QUEUE_SUMS)):
        stats.ring = Ring(QUEUE_SUMS, QUEUE_PEAKS)
    return stats.ring
