"""docs/metrics.md, made from the declarations (`make docs`)."""

from __future__ import annotations

from collections.abc import Callable

from cqs.metrics.beans import COMPOSITES, NODE_ATTRIBUTES, QUEUE_ATTRIBUTES
from cqs.metrics.declarations import ALL, QUEUE_LABELS, Kind, Metric, Scope


def as_markdown() -> str:
    """The whole page."""
    parts = [_HEAD]
    for title, text, is_part in _PARTS:
        parts.append(f"\n## {title}\n\n{text}\n\n| metric | type | what it says | CloudWatch |\n|---|---|---|---|\n")
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
    """Name, type and meaning, one a line."""
    width = max(len(metric.name) for metric in ALL)
    return "".join(f"{metric.name:{width}}  {metric.kind.value:9}  {metric.documentation}\n" for metric in ALL)


def _row(metric: Metric) -> str:
    labels = "" if metric.labels in ((), QUEUE_LABELS) else " {" + ", ".join(metric.labels) + "}"
    bounds = f" Buckets up to {', '.join(f'{bound:g}' for bound in metric.bounds)}." if metric.bounds else ""
    word = f"`{metric.word}`" if metric.word else ""
    return f"| `{metric.name}`{labels} | {metric.kind.value} | {metric.help}{bounds} | {word} |\n"


def _is_of_queue(metric: Metric) -> bool:
    return metric.labels == QUEUE_LABELS


_PARTS: tuple[tuple[str, str, Callable[[Metric], bool]], ...] = (
    (
        "What happened to a queue's messages",
        "Labels `account` and `queue`. Counted by the node that did it: sum over the nodes.",
        lambda metric: _is_of_queue(metric) and metric.kind is not Kind.GAUGE,
    ),
    (
        "How full a queue is",
        "Labels `account` and `queue`. The same seen from every node, so only one node (`cqs_leader` 1) tells.",
        lambda metric: _is_of_queue(metric) and metric.kind is Kind.GAUGE,
    ),
    (
        "The cluster",
        "Also told by the leading node only.",
        lambda metric: not _is_of_queue(metric) and metric.scope is Scope.SHARED,
    ),
    (
        "The node",
        "Of each process.",
        lambda metric: not _is_of_queue(metric) and metric.scope is Scope.NODE,
    ),
)

_HEAD = """\
# Metrics

<!-- Made from cqs/metrics/declarations.py by `make docs`; a test checks that it is current. -->

`GET /metrics` on the API's port answers in Prometheus' text format, or in OpenMetrics when the Accept header asks for
it; `GET /jmx` tells the same as JMX-style beans. Both need no signature: keep the port within your network, or switch
them off with `metrics = false`. `deploy/prometheus` has a scrape configuration and alerts, `deploy/grafana` a
dashboard.

A queue has series of its own once it is admitted: at its first event, when it is first seen with messages, or at once
while there is room for all. `queue_series` (500) bounds their number, and half of the places are kept for queues that
match one of `queue_series_patterns`. What came later counts in `queue="_other"`. Counters never fall: a deleted queue
keeps its series; only when another queue needs the place, ten minutes after the deletion at the earliest, they end. A
queue created anew under its old name counts on. All counters begin at zero when the process starts.

With `workers`, a scrape of any of them has the series of all, each with a label `worker`: `sum without (worker)` makes
one of them, and a worker that is replaced disturbs no rate. `/jmx` tells of the node: whichever worker is asked
adds up the last ten minutes, waiting receives and calls of all that live.
"""

_TAIL = """
Besides, the process itself: `process_cpu_seconds_total`, `process_resident_memory_bytes`,
`process_virtual_memory_bytes`, `process_open_fds`, `process_max_fds`, `process_start_time_seconds`, `python_info`.

## Useful queries

```
sum by (queue) (rate(cqs_messages_sent_total[1m]))                                    messages sent a second
histogram_quantile(0.99, sum by (le, action) (rate(cqs_request_duration_seconds_bucket[5m])))
1 - sum(rate(cqs_messages_from_store_total[5m])) / sum(rate(cqs_messages_received_total[5m]))   cache hit ratio
sum(rate(cqs_messages_sent_total[5m])) / sum(rate(cqs_commit_jobs_count[5m]))         sends a commit
```

## JMX-style beans

`GET /jmx` answers `{"beans": [{"name": "cqs:type=Queue,name=orders", "CacheHitRatio": 1.0, ...}]}`; `?qry=` filters by
name with `*`. `?format=prometheus` writes the numbers as jmx_exporter's default rules would
(`cqs_Queue_CacheHitRatio{name="orders"}`), and `&lowercase=true` as its `lowercaseOutputName`. "Recent" and "NumberOf"
numbers are those of the last ten minutes, as in the first CQS.

| bean | attribute | what it says |
|---|---|---|
"""
