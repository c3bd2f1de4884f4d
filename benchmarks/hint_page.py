"""The section on the consistency hint in docs/audit.md: a plot, the table, and whether a fixed K beats `auto`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import matplotlib

matplotlib.use("svg")
matplotlib.rcParams["svg.hashsalt"] = "benchmarks"

from matplotlib import pyplot  # noqa: E402

from benchmarks.downloads import ROOT  # noqa: E402
from benchmarks.hint_points import AUTO, Cell, Sweep, beats_auto, cells  # noqa: E402

_PAGE = ROOT / "docs" / "audit.md"
_PLOT = ROOT / "docs" / "images" / "hint.svg"
_BEGIN, _END = "<!-- Made by benchmarks/hint.py -->\n", "<!-- end -->\n"
_HEAD = ("receivers", "K", "duplicates", "takes that collided", "displacement", "messages/s")
_WORDS = """\
{nodes} nodes on one store without a cache, {messages:,} waiting messages, one per receive; each row uses seeds
{first} to {last}. `auto` was tuned on seeds 1 and 2; the seeds shown are different ones, which validate it. The store
is in memory, and each call takes 0.4 to 3 ms of simulated time, so the figures depend on the seed and not on the
machine. The received place is that of the response.
"""

_UNBEATEN = """\
At no number of receivers does any of these fixed K have both fewer duplicates and less displacement than `auto`. No
more is claimed: a value of K in between, chosen for a known and constant number of receivers, may do as well. With
one receiver `auto` is K = 1.
"""


def write_page(measured: Sweep) -> str:
    """Replaces the section between the markers, and returns it."""
    shown = cells(measured.points)
    draw(shown, _PLOT)
    part = text_of(measured, shown)
    page = _PAGE.read_text()
    before, after = page.partition(_BEGIN)[0], page.partition(_END)[2]
    _PAGE.write_text(before + _BEGIN + part + _END + after)
    return part


def text_of(measured: Sweep, shown: Sequence[Cell]) -> str:
    """Returns the section as Markdown."""
    first = measured.points[0]
    rows = [_HEAD, ("---",) * len(_HEAD), *map(_row, shown)]
    table = "\n".join("| " + " | ".join(row) + " |" for row in rows)
    seeds = [point.seed for point in measured.points]
    words = _WORDS.format(nodes=measured.nodes, messages=first.messages, first=min(seeds), last=max(seeds))
    return f"""
{words}
![Duplicates against displacement, a line for each number of receivers](images/hint.svg)

{table}

{_verdict(shown)}

By `{measured.command}`, raw results in `benchmarks/results/hint.json`.

"""


def _row(cell: Cell) -> tuple[str, ...]:
    k = f"auto (mean {cell.k_mean:.0f})" if cell.hint == AUTO else cell.hint
    return (
        str(cell.receivers),
        k,
        f"{cell.duplicates_percent:.2f} %",
        f"{cell.collisions_percent:.1f} %",
        f"{cell.displacement:.1f}",
        f"{cell.messages_per_s:,.0f}",
    )


def _verdict(shown: Sequence[Cell]) -> str:
    better = beats_auto(shown)
    if not better:
        return _UNBEATEN.rstrip()
    named = ", ".join(f"K = {cell.hint} at {cell.receivers} receivers" for cell in better)
    return f"Better than `auto` in both duplicates and displacement: {named}."


def draw(shown: Sequence[Cell], path: Path) -> None:
    """Plots duplicates against displacement, with `auto` highlighted."""
    figure, axes = pyplot.subplots(figsize=(9, 4.5))
    for receivers in dict.fromkeys(cell.receivers for cell in shown if cell.receivers > 1):
        fixed = [cell for cell in shown if cell.receivers == receivers and cell.hint != AUTO]
        (line,) = axes.plot(
            [cell.displacement for cell in fixed],
            [cell.duplicates_percent for cell in fixed],
            marker="o",
            label=f"{receivers} receivers, K as written",
        )
        for cell in fixed:
            axes.annotate(
                cell.hint, (cell.displacement, cell.duplicates_percent), (4, 5), textcoords="offset points", fontsize=8
            )
        auto = next(cell for cell in shown if cell.receivers == receivers and cell.hint == AUTO)
        axes.plot(
            auto.displacement,
            auto.duplicates_percent,
            "*",
            markersize=16,
            color=line.get_color(),
            label="auto",
        )
    axes.set_xscale("symlog", linthresh=1)
    axes.set_xlabel("displacement, places")
    axes.set_ylabel("duplicates, % of messages")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(loc="upper right")
    figure.savefig(path, bbox_inches="tight", metadata={"Date": None})
    pyplot.close(figure)
