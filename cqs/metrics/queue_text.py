"""Writes the queues' series in the exposition format, several times as fast as the library: there are some 15,000, and
the event loop waits for the same GIL.

Everything is simple: queue names need no escaping, a queue's labels are formatted once per scrape, and the values are
mostly small integers. `tests/protocol/test_metrics_text.py` parses the text with the library, has the library write it
again, in both formats, and compares the bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate

from prometheus_client.utils import floatToGoString

from cqs.metrics import declarations as d
from cqs.metrics.depths import Depth, age_s
from cqs.metrics.queue_stats import QueueStats
from cqs.metrics.queue_table import OTHER

_PLAIN_MAX = 1_000_000
"""Above this, Prometheus' own libraries write exponents."""
_STANDARD_ONLY, _FIFO_ONLY = frozenset({d.QUEUE_NOISY}), frozenset({d.QUEUE_GROUPS, d.QUEUE_COUNTERS["deduplicated"]})
_LES = (*(f"{float(1 << bits)}" for bits in d.SIZE_BITS), "+Inf")


def counted(queues: Sequence[QueueStats], *, is_openmetrics: bool) -> Iterator[str]:
    """What happened to the queues' messages, in the order of declaration."""
    labelled = [(stats, f'account="{stats.account}",queue="{stats.name}"') for stats in queues]
    for field, metric in d.QUEUE_COUNTERS.items():
        yield _head(metric, is_openmetrics)
        name, is_fifo_only = metric.name, metric in _FIFO_ONLY
        for stats, labels in labelled:
            if not is_fifo_only or stats.is_fifo or stats.name == OTHER:
                yield f"{name}{{{labels}}} {_number(getattr(stats, field))}\n"
    yield _head(d.MESSAGE_SIZE, is_openmetrics)
    for stats, labels in labelled:
        yield from _sizes(stats, labels)


def depths(found: Sequence[Depth], now_ms: int, *, is_openmetrics: bool) -> Iterator[str]:
    """How full the queues are."""
    reads: list[tuple[d.Metric, Callable[[Depth], float]]] = [
        (d.QUEUE_VISIBLE, lambda depth: depth.counts.ready),
        (d.QUEUE_IN_FLIGHT, lambda depth: depth.counts.in_flight),
        (d.QUEUE_DELAYED, lambda depth: depth.counts.delayed),
        (d.QUEUE_OLDEST, lambda depth: age_s(depth.counts.oldest_ms, now_ms)),
        (d.QUEUE_RETENTION, lambda depth: depth.retention_ms / 1_000),
        (d.QUEUE_GROUPS, lambda depth: depth.counts.groups_in_flight),
        (d.QUEUE_NOISY, lambda depth: depth.counts.noisy_groups),
        (d.QUEUE_DEAD_LETTER, lambda depth: int(depth.is_dead_letter)),
    ]
    labelled = [(depth, f'account="{depth.name.account}",queue="{depth.name.name}"') for depth in found]
    for metric, read in reads:
        yield _head(metric, is_openmetrics)
        for depth, labels in labelled:
            if _applies(metric, depth):
                yield f"{metric.name}{{{labels}}} {_number(read(depth))}\n"


def _head(metric: d.Metric, is_openmetrics: bool) -> str:
    name = metric.name.removesuffix("_total") if is_openmetrics else metric.name
    return f"# HELP {name} {metric.documentation}\n# TYPE {name} {metric.kind.value}\n"


def _sizes(stats: QueueStats, labels: str) -> Iterator[str]:
    name = d.MESSAGE_SIZE.name
    reached = list(accumulate(stats.sizes))
    account = f'account="{stats.account}"'
    for bound, count in zip(_LES, [*(reached[bits] for bits in d.SIZE_BITS), reached[-1]], strict=True):
        yield f'{name}_bucket{{{account},le="{bound}",queue="{stats.name}"}} {_number(count)}\n'
    yield f"{name}_count{{{labels}}} {_number(reached[-1])}\n{name}_sum{{{labels}}} {_number(stats.size_total)}\n"


def _applies(metric: d.Metric, depth: Depth) -> bool:
    name = depth.name.name
    if name == OTHER:
        return metric is not d.QUEUE_RETENTION and metric is not d.QUEUE_DEAD_LETTER
    if metric is d.QUEUE_DEAD_LETTER:
        return depth.is_dead_letter
    return metric not in (_STANDARD_ONLY if name.endswith(".fifo") else _FIFO_ONLY)


def _number(value: float) -> str:
    if type(value) is int and value < _PLAIN_MAX:
        return f"{value}.0"
    return str(floatToGoString(value))  # type: ignore[no-untyped-call]
