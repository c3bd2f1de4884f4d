"""Generates docs/metrics.md from the declarations (`make docs`)."""

from __future__ import annotations

from collections.abc import Callable

from cqs.metrics.beans import COMPOSITES, NODE_ATTRIBUTES, QUEUE_ATTRIBUTES
from cqs.metrics.declarations import ALL, QUEUE_LABELS, Kind, Metric, Scope


def as_markdown() -> str:
    """The whole page."""
    parts = [_HEAD]
    for title, text, is_part in _PARTS:
        parts.append(f"\n## {title}\n\n{text}\n\n| metric | type | meaning | CloudWatch |\n|---|---|---|---|\n")
        parts += [_row(metric) for metric in ALL if is_part(metric)]
    parts.append(_TAIL)
    for one in dict.fromkeys((*QUEUE_ATTRIBUTES, *NODE_ATTRIBUTES)):
        beans = [name for name, of in (("Queue", QUEUE_ATTRIBUTES), ("Node", NODE_ATTRIBUTES)) if one in of]
        parts.append(_bean_row(", ".join(beans), one.name, one.help, is_alias=one.alias))
    parts += [_bean_row("Node", name, text, is_alias=True) for name, text in COMPOSITES.items()]
    return "".join(parts)


def _bean_row(bean: str, name: str, text: str, *, is_alias: bool) -> str:
    return f"| {bean} | `{name}` | {text}{' (first CQS)' if is_alias else ''} |\n"


def as_text() -> str:
    """Name, type and meaning, one per line."""
    width = max(len(metric.name) for metric in ALL)
    return "".join(f"{metric.name:{width}}  {metric.kind.value:9}  {metric.documentation}\n" for metric in ALL)


def _row(metric: Metric) -> str:
    labels = "" if metric.labels in ((), QUEUE_LABELS) else " {" + ", ".join(metric.labels) + "}"
    bounds = f" Buckets up to {', '.join(f'{bound:.15g}' for bound in metric.bounds)}." if metric.bounds else ""
    word = f"`{metric.word}`" if metric.word else ""
    return f"| `{metric.name}`{labels} | {metric.kind.value} | {metric.help}{bounds} | {word} |\n"


def _is_of_queue(metric: Metric) -> bool:
    return metric.labels == QUEUE_LABELS


_PARTS: tuple[tuple[str, str, Callable[[Metric], bool]], ...] = (
    (
        "What happened to a queue's messages",
        "Labels `account` and `queue`. Each node counts what it did itself: sum over the nodes.",
        lambda metric: _is_of_queue(metric) and metric.kind is not Kind.GAUGE,
    ),
    (
        "How full a queue is",
        "Labels `account` and `queue`. The same on every node, so only the leader (`cqs_leader` 1) exports them. Of\n"
        "several data centres one node each exports them; a queue's messages are counted where its home is, and are\n"
        "0 elsewhere: sum over the nodes.",
        lambda metric: _is_of_queue(metric) and metric.kind is Kind.GAUGE,
    ),
    (
        "The cluster",
        "Exported by the leader only.",
        lambda metric: not _is_of_queue(metric) and metric.scope is Scope.SHARED,
    ),
    (
        "The node",
        "Exported by each process.",
        lambda metric: not _is_of_queue(metric) and metric.scope is Scope.NODE,
    ),
)

_HEAD = """\
# Metrics

<!-- Made from cqs/metrics/declarations.py by `make docs`; a test checks that it is current. -->

`GET /metrics` on the API's port returns metrics in the Prometheus text format, or in the OpenMetrics format if the
Accept header asks for it; `GET /jmx` returns the same as JMX-style beans. Neither requires authentication: keep the
port within your network, or disable both with `metrics = false`. `deploy/prometheus` has a scrape configuration and
alerts, `deploy/grafana` a dashboard.

`queue_series` (500) limits the number of queues with series of their own. While there is room, every queue gets them
at once; otherwise a queue does at its first event or when it is first seen with messages, as long as places are left.
Half of the places are reserved for queues that match one of `queue_series_patterns`. The other queues are counted
under `queue="_other"`. Counters never decrease: a deleted queue keeps its series until another queue needs the place,
which happens ten minutes after the deletion at the earliest. A queue that is created again under the same name
continues its counters. All counters start at zero with the process.

With several `workers`, a scrape of any of them returns the series of all, each with a label `worker`; add them up
with `sum without (worker)`. The replacement of a worker does not disturb rates. A worker that does not answer within
three seconds is left out of that scrape; `cqs_workers` counts it all the same. `/jmx` describes the node: whichever
worker is asked adds up the last ten minutes, the waiting receives and the calls of all living workers.
"""

_TAIL = """
The standard process metrics: `process_cpu_seconds_total`, `process_resident_memory_bytes`,
`process_virtual_memory_bytes`, `process_open_fds`, `process_max_fds`, `process_start_time_seconds`, `python_info`.

## Useful queries

```
# messages sent per second
sum by (queue) (rate(cqs_messages_sent_total[1m]))
# 99th percentile of the duration of calls
histogram_quantile(0.99, sum by (le, action) (rate(cqs_request_duration_seconds_bucket[5m])))
# cache hit ratio
1 - sum(rate(cqs_messages_from_store_total[5m])) / sum(rate(cqs_messages_received_total[5m]))
# workers whose series the last scrape lacks
max without (worker) (cqs_workers) - count without (worker) (cqs_workers)
# sends per commit
sum(rate(cqs_messages_sent_total[5m])) / sum(rate(cqs_commit_jobs_count[5m]))
```

## JMX-style beans

`GET /jmx` returns `{"beans": [{"name": "cqs:type=Queue,name=orders", "CacheHitRatio": 1.0, ...}]}`; `?qry=` filters
by name, with `*` as a wildcard. `?format=prometheus` returns the numbers under the names that jmx_exporter gives them
by default (`cqs_Queue_CacheHitRatio{name="orders"}`), and `&lowercase=true` corresponds to its `lowercaseOutputName`.
"Recent" and "NumberOf" values cover the last ten minutes. Attributes marked (first CQS) have the names used in the
original CQS.

| bean | attribute | meaning |
|---|---|---|
"""
