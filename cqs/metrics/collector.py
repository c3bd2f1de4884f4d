"""Produces the text of a scrape: the library writes the node's families, `queue_text` those of the queues.

A scrape takes a `Snapshot` in the event loop (the values that must be read there) and formats it in a thread. The
counters themselves are read while they grow: each value is right, and none ever decreases.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec
from prometheus_client import CollectorRegistry, PlatformCollector, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.core import Metric as Family
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

from cqs.metrics import declarations as d
from cqs.metrics import queue_text
from cqs.metrics.depths import Depth
from cqs.metrics.histogram import Histogram
from cqs.metrics.node import NodeMetrics
from cqs.metrics.timed import LayerTimes

_PROCESS = CollectorRegistry()
ProcessCollector(registry=_PROCESS)
PlatformCollector(registry=_PROCESS)


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """The values that a scrape read in the loop."""

    now_ms: int
    depths: list[Depth] | None
    """Of the admitted queues, and the rest as one named `_other`; None = another node exports them."""
    watched: dict[d.Metric, float]


class NodeCollector(Collector):
    """The families of one scrape, except those of queues."""

    def __init__(self, metrics: NodeMetrics, snapshot: Snapshot) -> None:
        self._metrics = metrics
        self._snapshot = snapshot

    def collect(self) -> Iterator[Family]:
        yield from _calls(self._metrics)
        yield from _layer(self._metrics.cache, d.CACHE_SECONDS, d.CACHE_ERRORS)
        yield from _layer(self._metrics.store, d.STORE_SECONDS, d.STORE_ERRORS)
        yield _histogram(d.COMMIT_JOBS, [((), self._metrics.commit_jobs)])
        yield _histogram(d.COMMIT_WAIT, [((), self._metrics.commit_wait)])
        yield _histogram(d.COMMIT_SECONDS, [((), self._metrics.commit_duration)])
        yield _histogram(d.FILL_SECONDS, [((), self._metrics.fill_duration)])
        yield _histogram(d.DUE_LAG, [((), self._metrics.due_lag)])
        yield _histogram(d.LOOP_LAG, [((), self._metrics.loop_lag)])
        for metric, value in self._snapshot.watched.items():
            family = CounterMetricFamily if metric.kind is d.Kind.COUNTER else GaugeMetricFamily
            yield family(metric.name, metric.documentation, value=value)
        build = GaugeMetricFamily(d.BUILD_INFO.name, d.BUILD_INFO.documentation, labels=d.BUILD_INFO.labels)
        build.add_metric(msgspec.structs.astuple(self._metrics.build), 1)
        yield build
        yield from _PROCESS.collect()


def scraped(metrics: NodeMetrics, snapshot: Snapshot, accept: str) -> tuple[bytes, str]:
    """The scrape's text and its content type, in the format requested by the Accept header."""
    rest, content_type = exposition(NodeCollector(metrics, snapshot), accept)
    is_openmetrics = content_type.startswith("application/openmetrics-text")
    queues = [*metrics.queues, metrics.queues.other]
    lines = list(queue_text.counted(queues, is_openmetrics=is_openmetrics))
    if snapshot.depths is not None:
        lines += queue_text.depths(snapshot.depths, snapshot.now_ms, is_openmetrics=is_openmetrics)
    return "".join(lines).encode() + rest, content_type


def exposition(collector: Collector, accept: str) -> tuple[bytes, str]:
    """A collector's families as text, written by the library."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(collector)
    encode, content_type = choose_encoder(accept)
    return encode(registry), content_type


def _calls(metrics: NodeMetrics) -> Iterator[Family]:
    by_action = list(metrics.calls.by_action.items())
    requests = CounterMetricFamily(d.REQUESTS.name, d.REQUESTS.documentation, labels=d.REQUESTS.labels)
    for action, stats in by_action:
        requests.add_metric((action, "ok"), stats.ok)
        for code, count in list(stats.failures.items()):
            requests.add_metric((action, code), count)
    yield requests
    yield _histogram(d.REQUEST_SECONDS, [((action,), stats.duration) for action, stats in by_action])


def _layer(times: LayerTimes, seconds: d.Metric, errors: d.Metric) -> Iterator[Family]:
    by_call = list(times.by_call.items())
    used = [((name,), call.duration) for name, call in by_call if call.duration.total or call.errors]
    yield _histogram(seconds, used)
    family = CounterMetricFamily(errors.name, errors.documentation, labels=errors.labels)
    for name, call in by_call:
        family.add_metric((name,), call.errors)
    yield family


def _histogram(metric: d.Metric, series: Iterable[tuple[tuple[str, ...], Histogram]]) -> Family:
    family = HistogramMetricFamily(metric.name, metric.documentation, labels=metric.labels)
    for labels, histogram in series:
        buckets: list[tuple[str, float]] = []
        reached = 0
        for bound, count in zip((*map(str, metric.bounds), "+Inf"), list(histogram.counts), strict=True):
            reached += count
            buckets.append((bound, reached))
        family.add_metric(labels, buckets, histogram.sum)
    return family
