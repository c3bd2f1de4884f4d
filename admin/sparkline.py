"""Small charts, rendered on the server as SVG: a line over a shaded area, in the colour of its class. No script, no
style attribute; the same points give the same text, so that a page that refreshes itself does not flicker.

A point of None is a gap. A table shows the last thirty minutes with one point per minute.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from markupsafe import Markup

WIDTH, HEIGHT = 96, 22


def sparkline(
    points: Sequence[float | None],
    second: Sequence[float | None] = (),
    *,
    label: str,
    kind: str = "",
    width: int = WIDTH,
    height: int = HEIGHT,
) -> Markup:
    """The chart, scaled to its highest point; `second` is another line on the same scale, without an area. `label` is
    the text for screen readers."""
    high = max((one for one in (*points, *second) if one is not None), default=0)
    if not high:
        line = f'<path class="flat" d="M1 {height - 1}H{width - 1}"/>'
        return _svg(Markup(line), label, kind, width, height)
    drawn = [_run(run, high, len(points), width, height, "line") for run in _runs(points)]
    drawn += [_run(run, high, len(second), width, height, "second") for run in _runs(second)]
    return _svg(Markup("").join(drawn), label, kind, width, height)


def _runs(points: Sequence[float | None]) -> Iterator[list[tuple[int, float]]]:
    """Stretches without a gap, each point with its position."""
    run: list[tuple[int, float]] = []
    for place, point in enumerate(points):
        if point is not None:
            run.append((place, point))
        elif run:
            yield run
            run = []
    if run:
        yield run


def _run(run: list[tuple[int, float]], high: float, count: int, width: int, height: int, kind: str) -> Markup:
    step = (width - 2) / max(count - 1, 1)
    spots = [(1 + place * step, height - 2 - point / high * (height - 4)) for place, point in run]
    if len(spots) == 1:
        spots = [(spots[0][0] - 0.5, spots[0][1]), (spots[0][0] + 0.5, spots[0][1])]
    line = "L".join(f"{x:.1f} {y:.1f}" for x, y in spots)
    area = f"M{spots[0][0]:.1f} {height - 1}L{line}L{spots[-1][0]:.1f} {height - 1}Z"
    filled = f'<path class="area" d="{area}"/>' if kind == "line" else ""
    return Markup(f'{filled}<path class="{kind}" d="M{line}"/>')


def _svg(inner: Markup, label: str, kind: str, width: int, height: int) -> Markup:
    head = Markup('<svg class="spark {}" viewBox="0 0 {} {}" width="{}" height="{}" role="img" aria-label="{}">')
    return head.format(kind, width, height, width, height, label) + inner + Markup("</svg>")
