"""Generates docs/benchmarks.md and its plots from raw results, or only prints the table.

Nothing in the page is written by hand, so every figure can be traced to a file in benchmarks/results and to the command
that produced it.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from pathlib import Path

from benchmarks import bars, downloads, results
from benchmarks.figures import (
    CPU,
    DEFAULT_AGAINST,
    OTHERS,
    P50,
    P95,
    P99,
    P999,
    RESIDENT,
    Cell,
    cells,
    leading_metric,
    losses,
    shown,
)
from benchmarks.paper import PAPER_SYNCS, PAPER_WORDS, paper_table
from benchmarks.results import Memory, Run

_PAGE = downloads.ROOT / "docs" / "benchmarks.md"
_HEAD = (
    "scenario",
    "server",
    "result",
    "range",
    "ratio",
    "p50 ms",
    "p95 ms",
    "p99 ms",
    "p99.9 ms",
    "CPU ms/1,000",
    "ratio",
    "MB",
    "others",
)
_WORDS = """\
Each figure is the median over the rounds of one run, in which the servers took turns on one machine; the range gives
the lowest and the highest round. Ratios are relative to {against}, and are the median of the ratios within each
round: higher is better for throughput, lower for times and CPU. Latencies are those of the send (of the receive if
nothing is sent). CPU and resident memory cover the server's whole process tree, without the load generator. "others"
are the cores used by neither server nor load generator, and show how quiet the machine was (below 0 where the clocks
of the processes and of the machine differ). Every response was checked, and every round with an error would be marked
here.
"""


def table(all_cells: Sequence[Cell]) -> list[tuple[str, ...]]:
    """Returns rows of text, one per scenario and server."""
    return [_row(cell) for cell in all_cells]


def _row(cell: Cell) -> tuple[str, ...]:
    metric = leading_metric(cell)
    main, cpu = cell.figure(metric), cell.figure(CPU)
    errors = sum(sample.load.errors for sample in cell.samples)
    return (
        cell.title,
        cell.server,
        f"{_number(main.median)} {metric.unit}" + (f" ({errors} errors)" if errors else ""),
        f"{_number(main.lowest)} to {_number(main.highest)}",
        _ratio(main.ratio),
        *(_number(cell.figure(quantile).median) for quantile in (P50, P95, P99, P999)),
        _number(cpu.median),
        _ratio(cpu.ratio),
        _number(cell.figure(RESIDENT).median),
        f"{cell.figure(OTHERS).median:.2f}",
    )


def _number(value: float) -> str:
    if value == 0:
        return "0"
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _ratio(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def print_table(runs: Sequence[Run], against: str | None = None) -> None:
    """To the terminal, in columns."""
    _columns([_HEAD, *table(cells(runs, against))])


def print_memory(measured: Sequence[Memory]) -> None:
    """To the terminal, in columns."""
    _columns([_MEMORY_HEAD, *map(_memory_row, _medians(measured))])


def _columns(rows: Sequence[tuple[str, ...]]) -> None:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        padded = [text.ljust(width) for text, width in zip(row[:2], widths[:2], strict=True)]
        padded += [text.rjust(width) for text, width in zip(row[2:], widths[2:], strict=True)]
        print("  ".join(padded).rstrip())


def markdown(runs: Sequence[Run], plots: Sequence[tuple[str, str]], against: str = DEFAULT_AGAINST) -> str:
    """Returns the whole page. `plots`: caption, and path relative to the page."""
    all_cells = shown(runs, against)
    lines = ["# Benchmarks", "", _WORDS.format(against=against)]
    lines += [f"![{caption}]({path})\n" for caption, path in plots]
    lines += ["## Against the bars", "", _BARS_WORDS, *_grid(_BARS_HEAD, bars.rows(runs)), ""]
    lines += ["## Results", "", _RESULTS_WORDS]
    for run in runs:
        mine = [cell for cell in all_cells if cell.run == run.started]
        if mine:
            lines += [f"`{run.command}`", "", *_grid(_HEAD, table(mine)), ""]
    memory = [measured for run in runs for measured in run.memory]
    if memory:
        lines += ["## Memory of waiting messages", "", *_grid(_MEMORY_HEAD, map(_memory_row, _medians(memory))), ""]
    paper = {sync: paper_table(runs, sync) for sync in PAPER_SYNCS}
    if any(paper.values()):
        lines += ["## The CQS paper's table", "", PAPER_WORDS]
    for sync, rows in paper.items():
        lines += [PAPER_SYNCS[sync], "", *rows, ""] if rows else []
    lost = losses(all_cells)
    lines += [
        "## Where we lose",
        "",
        _LOSSES_WORDS,
        *([f"- {sentence}" for sentence in lost] or ["In none of these."]),
        "",
    ]
    lines += ["## How to repeat it", ""]
    for run in runs:
        lines += _provenance(run)
    return "\n".join(lines).rstrip() + "\n"


_RESULTS_WORDS = """\
Each table is one run. Runs are minutes or hours apart on a virtual machine whose speed varies, so compare figures
only within a table. A server process lives as long as its run: memory that it once needed, for 100,000 or 1,000,000
waiting messages, is included in its later MB.

The run of 16 clients with one message and with ten per call includes every server. The other runs leave out servers
that would add hours but no information: moto makes one call while the others make thirty or more, goaws slows down
with the number of waiting messages, and two cores can't run a Cassandra, two JVMs and a Redis at once without
interference. The 100,000 queues are created and deleted again in each round, and are compared with CQS's own figures
for 10 queues.
"""
_LOSSES_WORDS = """\
By the median of each scenario's main figure, for `cqs` only: latencies, CPU, and the signed, Redis and Cassandra
servers are in the tables only.
"""
_BARS_HEAD = ("bar", "must", "aim", "measured", "", "rounds")
_BARS_WORDS = """\
These are the targets that we set. CQS is durable (an fsync before each response) and the other servers are in memory,
unless the row says otherwise. `docs/speed.md` explains why some are missed.
"""
_MEMORY_HEAD = (
    "server",
    "waiting",
    "empty MB",
    "filled MB",
    "10 s later MB",
    "filled in s",
    "restart s",
    "restarted MB",
)


def _medians(all_memory: Sequence[Memory]) -> list[Memory]:
    """Returns the median of each server and number of messages, by settled memory."""
    groups: dict[tuple[int, str], list[Memory]] = {}
    for one in all_memory:
        groups.setdefault((one.messages, one.server), []).append(one)
    return [sorted(group, key=lambda one: one.settled_mb)[len(group) // 2] for group in groups.values()]


def _memory_row(one: Memory) -> tuple[str, ...]:
    return (
        one.server,
        f"{one.messages:,} of {one.size:,} B",
        *(_number(value) for value in (one.empty_mb, one.filled_mb, one.settled_mb, one.fill_seconds)),
        "" if one.restart_s is None else f"{one.restart_s:.2f}",
        "" if one.restarted_mb is None else _number(one.restarted_mb),
    )


def _grid(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * 2 + "--:|" * (len(head) - 2)]
    return [*lines, *("| " + " | ".join(row) + " |" for row in rows)]


def _provenance(run: Run) -> list[str]:
    commands = {(sample.scenario, sample.server): sample.command for sample in run.samples}
    lines = [f"{run.started}, {', '.join(run.machine.values())}:", "", "```sh", run.command, "```", ""]
    lines += [*(f"- {name}: {title}" for name, title in run.servers.items()), ""]
    if commands:
        lines += ["<details><summary>the load generator's commands</summary>", "", "```sh"]
        return [*lines, *commands.values(), "```", "", "</details>", ""]
    return [*lines, "```sh", *dict.fromkeys(one.command for one in run.memory), "```", ""]


def main(given: Sequence[str] | None = None) -> None:
    """`python -m benchmarks.report [FILE …]`: uses all of the servers' files in benchmarks/results by default."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.report", description=__doc__.partition("\n")[0])
    parser.add_argument("files", nargs="*", type=Path, help="raw results (default: all in benchmarks/results)")
    parser.add_argument("--against", default=DEFAULT_AGAINST, help="the reference server of ratios")
    parser.add_argument("--page", type=Path, default=_PAGE, help="file of the page (default: docs/benchmarks.md)")
    parser.add_argument("--print", action="store_true", dest="is_printing", help="print the table, write no page")
    options = parser.parse_args(given)
    runs = results.load(options.files or results.of_servers())
    if options.is_printing:
        print_table(runs, options.against)
        return
    from benchmarks.plots import draw

    plots = draw(runs, options.against, options.page.with_suffix(""))
    options.page.write_text(markdown(runs, plots, options.against))
    print(options.page)


if __name__ == "__main__":
    main()
