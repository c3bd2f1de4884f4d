"""What GetNodeStatistics answers, taken from the node's metrics."""

from __future__ import annotations

from collections.abc import Mapping

from cqs.api.context import Context
from cqs.api.shapes.extensions import (
    ActionStatistics,
    Chart,
    GetNodeStatisticsRequest,
    GetNodeStatisticsResult,
    Home,
    QueueStatistics,
    StoreFile,
    StoreHost,
    StorePlaces,
)
from cqs.cache.counts import Counts
from cqs.errors import InvalidParameterValue, OutcomeUnknown, StoreUnavailable
from cqs.metrics.calls import CallStats
from cqs.metrics.declarations import CONNECTIONS
from cqs.metrics.depths import age_s
from cqs.metrics.node import NodeMetrics, ratio_of
from cqs.metrics.rings import QUEUE_PEAKS, QUEUE_SUMS, RANGES, Ring
from cqs.queue import Queue
from cqs.service import statistics
from cqs.service.engine import Engine
from cqs.service.whereabouts import whereabouts


async def node_statistics(context: Context, request: GetNodeStatisticsRequest) -> GetNodeStatisticsResult:
    """Raises InvalidParameterValue for an unknown range, QueueDoesNotExist."""
    engine, metrics = context.engine, context.engine.metrics
    range_s = _range_s(request.chart_range)
    now_ms = engine.clock.now_ms()
    if request.queue_url:
        queue = await context.queue(request.queue_url)
        await statistics.survey(engine, [queue])
        stats, depth = metrics.queues.get(queue.key), metrics.depths.get(queue.uid)
        ring = stats.ring if stats is not None and stats.ring is not None else Ring(QUEUE_SUMS, QUEUE_PEAKS)
        counts = Counts() if depth is None else depth.counts
        waiting, home = engine.waiters.count(queue.uid), await _home(engine, queue)
    else:
        ring, counts, waiting, home = metrics.ring, metrics.depths.totals(), len(engine.waiters), None
    return GetNodeStatisticsResult(
        version=metrics.build.version,
        data_center=engine.cluster.datacenter,
        home=home,
        started_timestamp=metrics.started_ms,
        queues=len(engine.registry),
        connections=int(metrics.watched().get(CONNECTIONS, 0)),
        totals=_totals(ring.recent(now_ms // 1_000), counts, waiting, now_ms),
        actions={} if request.queue_url else _actions(metrics),
        store=None if request.queue_url else _store(metrics),
        chart=_chart(ring, range_s, now_ms // 1_000) if range_s else None,
    )


async def _home(engine: Engine, queue: Queue) -> Home | None:
    """None where queues have no homes, and while the store does not answer."""
    try:
        found = await whereabouts(engine, queue)
    except (StoreUnavailable, OutcomeUnknown):
        return None
    if found is None:
        return None
    return Home() if found.home is None else Home(data_center=found.home.datacenter, since=found.home.taken_ms)


def _range_s(name: str | None) -> int:
    if not name:
        return 0
    if name not in RANGES:
        raise InvalidParameterValue.of(name[:100], "ChartRange", f"Must be one of {', '.join(RANGES)}.")
    return RANGES[name]


def _totals(recent: Mapping[str, float], counts: Counts, waiting: int, now_ms: int) -> QueueStatistics:
    return QueueStatistics(
        sent=int(recent["sent"]),
        received=int(recent["received"]),
        deleted=int(recent["deleted"]),
        empty_receives=int(recent["empty_receives"]),
        cache_hit_ratio=ratio_of(recent),
        visible=counts.ready,
        in_flight=counts.in_flight,
        delayed=counts.delayed,
        oldest_message_age=age_s(counts.oldest_ms, now_ms),
        waiting_receives=waiting,
    )


def _actions(metrics: NodeMetrics) -> dict[str, ActionStatistics]:
    return {action: _action(stats) for action, stats in metrics.calls.by_action.items()}


def _action(stats: CallStats) -> ActionStatistics:
    return ActionStatistics(
        calls=stats.duration.count,
        failures=dict(stats.failures),
        median_seconds=stats.duration.quantile(0.5),
        p99_seconds=stats.duration.quantile(0.99),
    )


def _store(metrics: NodeMetrics) -> StorePlaces:
    report = metrics.store_report()
    return StorePlaces(
        hosts=[
            StoreHost(address=one.address, data_center=one.datacenter, rack=one.rack, version=one.version, up=one.is_up)
            for one in report.hosts
        ],
        files=[StoreFile(path=one.path, size_bytes=one.size_bytes) for one in report.files],
    )


def _chart(ring: Ring, range_s: int, now_s: int) -> Chart:
    chart = ring.chart(range_s, now_s)
    return Chart(fields=list(chart.fields), start=chart.start_s, period=chart.period_s, points=chart.rows)
