"""The figures of tables and plots, computed from raw samples: medians, ranges, and ratios within a round.

A ratio compares two windows of the same round and scenario. The median of these ratios is robust against a noisy round;
the ratio of two medians is not.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from benchmarks.results import Run, Sample

DEFAULT_AGAINST = "elasticmq"


@dataclass(frozen=True, slots=True)
class Metric:
    """A figure of one sample. `more_is_better`: whether a ratio above 1 is better."""

    name: str
    unit: str
    of: Callable[[Sample], float]
    more_is_better: bool = False


def _latency(sample: Sample, quantile: str) -> float:
    calls = sample.load.calls
    leading = calls.get("send") or calls.get("receive")
    return float(getattr(leading.latency_ms, quantile)) if leading else 0.0


def _cpu_percent(sample: Sample) -> float:
    return 100 * sample.cpu_s / sample.load.seconds if sample.load.seconds else 0.0


THROUGHPUT = Metric("throughput", "messages/s", lambda sample: sample.load.messages_per_s, more_is_better=True)
CALLS = Metric("calls", "calls/s", lambda sample: sample.load.calls_per_s, more_is_better=True)
P50 = Metric("p50", "ms", lambda sample: _latency(sample, "p50"))
P95 = Metric("p95", "ms", lambda sample: _latency(sample, "p95"))
P99 = Metric("p99", "ms", lambda sample: _latency(sample, "p99"))
P999 = Metric("p99.9", "ms", lambda sample: _latency(sample, "p99_9"))
CPU = Metric("CPU", "ms per 1,000 calls", lambda sample: sample.cpu_ms_per_1000_calls)
CPU_PERCENT = Metric("CPU", "% of a core", _cpu_percent)
OTHERS = Metric("others", "cores", lambda sample: sample.other_cpu)
RESIDENT = Metric("memory", "MB", lambda sample: sample.resident_mb)


@dataclass(frozen=True, slots=True)
class Figure:
    """Median and range over the rounds. `ratio`: to the reference server; None if that did not take part."""

    median: float
    lowest: float
    highest: float
    ratio: float | None
    rounds: int


@dataclass(frozen=True, slots=True)
class Cell:
    """The results of one scenario on one server."""

    scenario: str
    title: str
    server: str
    samples: Sequence[Sample]
    measure: Sequence[Sample]
    """The samples of the reference server in the same scenario."""
    run: str
    """The start time of its run."""

    def figure(self, metric: Metric) -> Figure:
        values = [metric.of(sample) for sample in self.samples]
        base = {sample.repetition: metric.of(sample) for sample in self.measure}
        ratios = [metric.of(sample) / base[sample.repetition] for sample in self.samples if base.get(sample.repetition)]
        return Figure(median(values), min(values), max(values), median(ratios) if ratios else None, len(values))


def leading_metric(cell: Cell) -> Metric:
    """Returns the metric that the scenario is meant to measure."""
    mode = cell.samples[0].load.mode
    return {"rate": P99, "idle": CPU_PERCENT}.get(mode, THROUGHPUT)


def cells(runs: Iterable[Run], against: str | None = None) -> list[Cell]:
    """Returns all scenarios and their servers, in the order of the runs. If several runs of the same servers have a
    scenario, only the last run's samples are used: rounds of different runs are never mixed."""
    latest: dict[tuple[str, frozenset[str]], Run] = {}
    for run in runs:
        servers = frozenset(sample.server for sample in run.samples)
        latest.update(((sample.scenario, servers), run) for sample in run.samples)
    found: list[Cell] = []
    for (scenario, _), run in latest.items():
        by_server: dict[str, list[Sample]] = defaultdict(list)
        for sample in run.samples:
            if sample.scenario == scenario:
                by_server[sample.server].append(sample)
        measure = by_server.get(against or DEFAULT_AGAINST, [])
        title = run.scenarios.get(scenario, scenario)
        found += [Cell(scenario, title, server, samples, measure, run.started) for server, samples in by_server.items()]
    return found


def shown(runs: Iterable[Run], against: str | None = None) -> list[Cell]:
    """Returns the cells of scenarios that have a title. The others have their own tables."""
    known = list(runs)
    titled = {name for run in known for name in run.scenarios}
    return [cell for cell in cells(known, against) if cell.scenario in titled]


def _amount(value: float) -> str:
    return f"{value:,.0f}" if value >= 1_000 else f"{value:.4g}"


def losses(all_cells: Sequence[Cell], ours: str = "cqs") -> list[str]:
    """Returns a sentence for each scenario in which a peer beats us in the leading metric."""
    sentences: list[str] = []
    for cell in all_cells:
        if cell.server != ours:
            continue
        metric = leading_metric(cell)
        mine = cell.figure(metric).median
        for other in all_cells:
            is_beside = other.scenario == cell.scenario and other.run == cell.run
            if not is_beside or other.server.startswith(ours):
                continue
            theirs = other.figure(metric).median
            if (theirs > mine) if metric.more_is_better else (theirs < mine):
                sentences.append(f"{cell.title}: {other.server} {_amount(theirs)} {metric.unit}, we {_amount(mine)}.")
    return sentences
