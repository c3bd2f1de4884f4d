"""The plots of docs/benchmarks.md, as SVG, with the figures of its table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import matplotlib

matplotlib.use("svg")
matplotlib.rcParams["svg.hashsalt"] = "benchmarks"

from matplotlib import pyplot  # noqa: E402
from matplotlib.axes import Axes  # noqa: E402

from benchmarks.figures import CPU, THROUGHPUT, Cell, Metric, leading_metric, shown  # noqa: E402
from benchmarks.results import Run  # noqa: E402

_COLOURS = ("#1f77b4", "#ff7f0e", "#2ca02c", "#d62728", "#9467bd", "#8c564b", "#7f7f7f")
_BAR = 0.8


def draw(runs: Sequence[Run], against: str, folder: Path) -> list[tuple[str, str]]:
    """Writes the plots into the folder. Returns captions, and paths relative to the folder's parent."""
    folder.mkdir(parents=True, exist_ok=True)
    all_cells = shown(runs, against)
    served = [cell for cell in all_cells if leading_metric(cell) is THROUGHPUT]
    parts = [
        ("Throughput", "throughput", lambda axes: _bars(axes, served, THROUGHPUT)),
        ("CPU per 1,000 calls", "cpu", lambda axes: _bars(axes, served, CPU)),
    ]
    memory = [one for run in runs for one in run.memory]
    if memory:
        parts.append(("Resident memory", "memory", lambda axes: _memory(axes, runs)))
    return [(caption, _save(folder, name, caption, paint)) for caption, name, paint in parts]


def _save(folder: Path, name: str, caption: str, paint: Callable[[Axes], int]) -> str:
    figure, axes = pyplot.subplots()
    rows = paint(axes)
    figure.set_size_inches(9, 1.2 + 0.22 * rows)
    axes.set_title(caption)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(folder / f"{name}.svg", bbox_inches="tight", metadata={"Date": None})
    pyplot.close(figure)
    return f"{folder.name}/{name}.svg"


def _bars(axes: Axes, drawn: Sequence[Cell], metric: Metric) -> int:
    """Draws a group of horizontal bars per scenario, from its newest run, with a bar per server and the range as a
    whisker. Returns the number of bars."""
    titles = list(dict.fromkeys(cell.title for cell in drawn))
    servers = list(dict.fromkeys(cell.server for cell in drawn))
    height = _BAR / max(len(servers), 1)
    for at, server in enumerate(servers):
        mine = list({cell.title: cell for cell in drawn if cell.server == server}.values())
        figures = [cell.figure(metric) for cell in mine]
        axes.barh(
            [titles.index(cell.title) + at * height for cell in mine],
            [figure.median for figure in figures],
            height,
            xerr=[
                [figure.median - figure.lowest for figure in figures],
                [figure.highest - figure.median for figure in figures],
            ],
            color=_COLOURS[at % len(_COLOURS)],
            label=server,
        )
    axes.set_yticks([at + (_BAR - height) / 2 for at in range(len(titles))], titles)
    axes.invert_yaxis()
    axes.set_xlabel(metric.unit)
    if servers:
        axes.legend()
    return len(drawn)


def _memory(axes: Axes, runs: Sequence[Run]) -> int:
    bars = {f"{one.server}, {one.messages:,} waiting": one.settled_mb for run in runs for one in run.memory}
    axes.barh(list(bars), list(bars.values()), color=_COLOURS[0])
    axes.invert_yaxis()
    axes.set_xlabel("MB")
    return len(bars)
