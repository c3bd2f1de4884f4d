"""The data of the charts: columns of a ring, as JSON for the pages' script. A range is one of `RANGES`; the ring
determines the resolution. Sums become rates per second; peaks are shown unchanged."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from cqs.metrics.rings import NODE_SUMS, QUEUE_TIMES, RANGES, SAMPLE_S, Chart, Ring

RANGE_DEFAULT = "10m"
RANGE_NAMES = {
    "5m": "5 min",
    "10m": "10 min",
    "1h": "1 hour",
    "6h": "6 hours",
    "1d": "1 day",
    "7d": "7 days",
}


class Line(msgspec.Struct, frozen=True):
    """A line of a chart: the ring's field, its label, and its colour number."""

    field: str
    label: str
    colour: int


LINES = {
    "rates": (Line("sent", "sent", 0), Line("received", "received", 3), Line("deleted", "deleted", 1)),
    "depth": (Line("visible", "ready", 0), Line("in_flight", "in flight", 2), Line("delayed", "delayed", 3)),
    "age": (Line("oldest_s", "oldest", 2),),
    "empty": (
        Line("empty_receives", "empty receives", 3),
        Line("from_store", "from the store", 2),
        Line("dead_lettered", "dead letters", 4),
    ),
    "calls": (Line("calls", "calls", 0), Line("errors", "errors", 4)),
    "waiting": (Line("waiting", "waiting receives", 3),),
    "times": (
        Line("send_most_ms", "send, 99 %", 0),
        Line("send_half_ms", "send, half", 1),
        Line("cache_most_ms", "cache, 99 %", 3),
        Line("store_most_ms", "store, 99 %", 2),
    ),
    "half": (
        Line("send_half_ms", "send", 0),
        Line("receive_half_ms", "receive", 3),
        Line("delete_half_ms", "delete", 1),
    ),
    "most": (
        Line("send_most_ms", "send", 0),
        Line("receive_most_ms", "receive", 3),
        Line("delete_most_ms", "delete", 1),
    ),
    "hits": (Line("hit_percent", "from the cache", 1),),
    "wait": (Line("mean_wait_s", "on average", 0),),
}


def _hit_percent(from_store: float, received: float) -> float:
    return 100 * (1 - from_store / received)


def _mean_s(waited_ms: float, first_receives: float) -> float:
    return waited_ms / first_receives / 1_000


_DERIVED = {
    "hit_percent": ("from_store", "received", _hit_percent),
    "mean_wait_s": ("waited_ms", "first_receives", _mean_s),
}
"""Lines computed from two sums; nothing is drawn where the second one is 0."""
_TIMES = (*QUEUE_TIMES, "cache_most_ms", "store_most_ms")
"""Lines that are drawn only where calls were made."""


def range_of(name: str) -> str:
    """The range, or the default for an unknown name."""
    return name if name in RANGE_NAMES and name in RANGES else RANGE_DEFAULT


def drawn(ring: Ring | None, kind: str, range_name: str, now_ms: int, *, is_watched: bool = True) -> dict[str, object]:
    """The chart in uPlot's format: times first, then one column per line; `spans`: gaps are bridged. Without a ring,
    all values are 0, or unknown if not `is_watched`."""
    lines = LINES[kind]
    has_gaps = [line.field in _DERIVED or line.field in _TIMES for line in lines]
    series = [
        {"label": line.label, "colour": line.colour, "spans": spans}
        for line, spans in zip(lines, has_gaps, strict=True)
    ]
    now_s = now_ms // 1_000
    if ring is None:
        times = [now_s - RANGES[range_name], now_s]
        return {
            "series": series,
            "data": [times, *([None, None] if spans or not is_watched else [0, 0] for spans in has_gaps)],
        }
    chart = ring.chart(RANGES[range_name], now_s)
    times = [chart.start_s + place * chart.period_s for place in range(len(chart.rows))]
    return {"series": series, "data": [times, *(_column(chart, line.field, now_s) for line in lines)]}


def _column(chart: Chart, field: str, now_s: int) -> Sequence[float | None]:
    if field in _DERIVED:
        return _derived(chart, *_DERIVED[field])
    if field not in chart.fields:
        return [None] * len(chart.rows)
    place = chart.fields.index(field)
    values = [row[place] for row in chart.rows]
    if field in _TIMES:
        return [round(value, 3) if value else None for value in values]
    if field not in NODE_SUMS:
        return values
    rates = [None if value is None else round(value / chart.period_s, 3) for value in values]
    if values and values[-1] is not None:
        rates[-1] = round(values[-1] / _begun_s(chart, now_s), 3)
    return rates


def _begun_s(chart: Chart, now_s: int) -> int:
    """How much of the last period has passed, in whole samples; without this, each chart would end in a drop."""
    begun_s = now_s - (chart.start_s + (len(chart.rows) - 1) * chart.period_s)
    return min(chart.period_s, (begun_s // SAMPLE_S + 1) * SAMPLE_S)


def _derived(chart: Chart, part: str, whole: str, make: Callable[[float, float], float]) -> Sequence[float | None]:
    ours, theirs = chart.fields.index(part), chart.fields.index(whole)
    return [round(make(row[ours] or 0, count), 3) if (count := row[theirs]) else None for row in chart.rows]
