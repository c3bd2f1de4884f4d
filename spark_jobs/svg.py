"""Plots as inline SVG: bars and lines with few marks, readable in light and dark mode, with each value also as a
tooltip."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

WIDTH, HEIGHT = 640, 200
_LEFT, _RIGHT, _TOP, _BOTTOM = 56, 12, 12, 28
_TICKS = 4
_LABEL_MAX = 26


@dataclass(frozen=True, slots=True)
class Series:
    """A line or a set of bars. `css` names its colour."""

    name: str
    values: Sequence[float | None]
    css: str = "a"


def bars(labels: Sequence[str], series: Series, unit: str = "") -> str:
    """One horizontal bar per label; the longest spans the full width."""
    row, left = 22, 190
    height = row * len(labels) + 4
    top = max([value or 0.0 for value in series.values] or [0.0]) or 1.0
    parts = [_begun(series.name, height)]
    for place, (label, given) in enumerate(zip(labels, series.values, strict=True)):
        value = given or 0.0
        y, length = place * row + 4, max(1.0, (WIDTH - left - 90) * value / top)
        text = escape(_short(label))
        parts.append(
            f'<text x="{left - 8}" y="{y + 12}" class="label end">{text}</text>'
            f'<rect x="{left}" y="{y}" width="{length:.1f}" height="14" rx="2" class="fill-{series.css}">'
            f"<title>{escape(label)}: {number(value)}{unit}</title></rect>"
            f'<text x="{left + length + 6:.1f}" y="{y + 12}" class="label">{number(value)}{unit}</text>'
        )
    return "".join([*parts, "</svg></div>"])


def lines(moments: Sequence[float], labels: Sequence[str], every: Sequence[Series], unit: str = "") -> str:
    """Values over time, one line per series, placed at `moments`, in any unit. A missing value (None) interrupts the
    line."""
    top = max([value for series in every for value in series.values if value is not None] or [0.0]) or 1.0
    name = ", ".join(series.name for series in every)
    parts = [
        _begun(name, HEIGHT),
        _grid(top, unit),
    ]
    for series in every:
        path: list[str] = []
        for moment, value, label in zip(moments, series.values, labels, strict=True):
            if value is None:
                parts.append(_path(path, series.css))
                path = []
                continue
            x, y = _point(moment, value, moments, top)
            path.append(f"{x:.1f},{y:.1f}")
            parts.append(
                f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.5" class="fill-{series.css}">'
                f"<title>{escape(label)} {escape(series.name)}: {number(value)}{unit}</title></circle>"
            )
        parts.append(_path(path, series.css))
    if labels:
        parts.append(f'<text x="{_LEFT}" y="{HEIGHT - 8}" class="label">{escape(labels[0])}</text>')
    if len(labels) > 1:
        parts.append(f'<text x="{WIDTH - _RIGHT}" y="{HEIGHT - 8}" class="label end">{escape(labels[-1])}</text>')
    legend = "".join(f'<span class="key key-{series.css}">{escape(series.name)}</span>' for series in every)
    return "".join([*parts, "</svg></div>", f'<p class="legend">{legend}</p>'])


def number(value: float) -> str:
    """Short; exact for whole numbers."""
    if value == int(value):
        return f"{int(value):,}"
    return f"{value:.3g}" if abs(value) < 1_000 else f"{value:,.0f}"


def _begun(name: str, height: int) -> str:
    """The beginning of a plot, which scrolls where the page is too narrow for its text."""
    return f'<div class="wide"><svg class="plot" viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(name)}">'


def _short(label: str) -> str:
    """Both ends: names of queues often begin, or end, alike."""
    return label if len(label) <= _LABEL_MAX else f"{label[:10]}…{label[11 - _LABEL_MAX :]}"


def _path(points: Sequence[str], css: str) -> str:
    return f'<polyline points="{" ".join(points)}" class="line-{css}"/>' if len(points) > 1 else ""


def _point(moment: float, value: float, moments: Sequence[float], top: float) -> tuple[float, float]:
    first, span = moments[0], moments[-1] - moments[0]
    share = (moment - first) / span if span else 0.5
    x = _LEFT + (WIDTH - _LEFT - _RIGHT) * share
    return x, HEIGHT - _BOTTOM - (HEIGHT - _TOP - _BOTTOM) * value / top


def _grid(top: float, unit: str) -> str:
    parts: list[str] = []
    for tick in range(_TICKS + 1):
        y = HEIGHT - _BOTTOM - (HEIGHT - _TOP - _BOTTOM) * tick / _TICKS
        parts.append(
            f'<line x1="{_LEFT}" x2="{WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}" class="grid"/>'
            f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" class="label end">{number(top * tick / _TICKS)}{unit}</text>'
        )
    return "".join(parts)
