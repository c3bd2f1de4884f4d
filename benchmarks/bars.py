"""The targets that were set before anything was measured, as data, and how raw results compare with them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import NamedTuple

from benchmarks.figures import CALLS, CPU, CPU_PERCENT, P99, RESIDENT, THROUGHPUT, Metric
from benchmarks.results import Run


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a comparison: one window in each round."""

    scenario: str
    server: str


@dataclass(frozen=True, slots=True)
class Bar:
    """A target for the ratio of `metric` between `ours` and `theirs` in the same round; without `theirs`, for the
    figure itself."""

    title: str
    must: str
    aim: str
    metric: Metric
    ours: Side
    theirs: Side | None = None


_SINGLES, _TENS, _FEW = "mixed-64x1", "mixed-64x10", "mixed-16x1"


def _pair(scenario: str, ours: str, theirs: str) -> tuple[Side, Side]:
    return Side(scenario, ours), Side(scenario, theirs)


BARS = (
    Bar("singles, 64 clients, signatures checked, to ElasticMQ", "2x", "3x", THROUGHPUT,
        *_pair(_SINGLES, "cqs-signed", "elasticmq")),
    Bar("singles, 64 clients, open mode, to ElasticMQ", "", "", THROUGHPUT, *_pair(_SINGLES, "cqs", "elasticmq")),
    Bar("singles, signatures checked, to ElasticMQ on H2 files", "8x", "12x", THROUGHPUT,
        *_pair(_SINGLES, "cqs-signed", "elasticmq-h2")),
    Bar("ten a call, 64 clients, to ElasticMQ", "3x", "4x", THROUGHPUT, *_pair(_TENS, "cqs", "elasticmq")),
    Bar("singles, 64 clients, to goaws", "1.1x", "1.5x", THROUGHPUT, *_pair(_SINGLES, "cqs", "goaws")),
    Bar("Redis + SQLite, singles, 64 clients, to ElasticMQ", "1.5x", "2x", THROUGHPUT,
        *_pair(_SINGLES, "cqs-redis-sqlite", "elasticmq")),
    Bar("p99 of a send at 2,000 messages/s, to ElasticMQ", "0.4x", "0.2x", P99,
        *_pair("rate-2000", "cqs", "elasticmq")),
    Bar("CPU a call, singles, 64 clients, to ElasticMQ", "0.5x", "0.33x", CPU, *_pair(_SINGLES, "cqs", "elasticmq")),
    Bar("1,000,000 waiting to none", "0.9x", "1x", CALLS,
        Side(f"{_FEW}-after-1000000", "cqs"), Side(_FEW, "cqs")),
    Bar("100,000 waiting to none", "", "", CALLS, Side(f"{_FEW}-after-100000", "cqs"), Side(_FEW, "cqs")),
    Bar("100,000 queues to 10", "0.9x", "1x", CALLS, Side("queues-100000", "cqs"), Side("queues-10", "cqs")),
    Bar("1,000 idle long pollers, of a core", "2 %", "0.5 %", CPU_PERCENT, Side("pollers-1000", "cqs")),
    Bar("Redis + Cassandra, singles, 16 clients, to ElasticMQ", "0.5x", "1x", THROUGHPUT,
        *_pair(_FEW, "cqs-redis-cassandra", "elasticmq")),
    Bar("two workers to one, Redis + Cassandra, 64 clients", "stated", "", THROUGHPUT,
        *_pair(_SINGLES, "2-nodes", "1-node")),
)  # fmt: skip
_MEMORY = {
    "elasticmq": ("100,000 waiting messages of 1 kB in memory, to ElasticMQ with its default heap", "0.25x", ""),
    "elasticmq-256m": ("the same to ElasticMQ with a heap of 256 MB", "0.6x", "0.4x"),
}
"""Targets for memory, by the server we are compared with."""
_MEMORY_MESSAGES = 100_000


def rows(runs: Sequence[Run]) -> list[tuple[str, str, str, str, str, str]]:
    """Returns target, must, aim, measured, whether it is met, and rounds, from the newest run that has both sides; "not
    measured" if none has."""
    found = [_row(bar.title, bar.must, bar.aim, _measured(bar, runs), bar.metric) for bar in BARS]
    return [*found, *(_row(*texts, _memory(runs, server), RESIDENT) for server, texts in _MEMORY.items())]


class _Found(NamedTuple):
    value: float
    unit: str
    rounds: int


def _row(title: str, must: str, aim: str, found: _Found | None, metric: Metric) -> tuple[str, str, str, str, str, str]:
    if found is None:
        return title, must, aim, "not measured", "", ""
    head = must.rstrip("x% ")
    verdict = ""
    if head.replace(".", "", 1).isdigit():
        is_more = found.value >= float(head)
        verdict = "met" if is_more == metric.more_is_better or found.value == float(head) else "missed"
    text = f"{found.value:#.3g}x" if found.unit == "x" else f"{found.value:.2g} {found.unit}"
    return title, must, aim, text, verdict, str(found.rounds)


def _measured(bar: Bar, runs: Sequence[Run]) -> _Found | None:
    for run in reversed(runs):
        ours, theirs = _values(run, bar.metric, bar.ours), _values(run, bar.metric, bar.theirs or bar.ours)
        shared = [number for number in ours if theirs.get(number)]
        if shared and bar.theirs is None:
            return _Found(median(ours.values()), bar.metric.unit.partition(" ")[0], len(ours))
        if shared:
            return _Found(median(ours[number] / theirs[number] for number in shared), "x", len(shared))
    return None


def _values(run: Run, metric: Metric, side: Side) -> dict[int, float]:
    """Returns the values by round."""
    return {
        sample.repetition: metric.of(sample)
        for sample in run.samples
        if (sample.scenario, sample.server) == (side.scenario, side.server)
    }


def _memory(runs: Sequence[Run], server: str) -> _Found | None:
    for run in reversed(runs):
        ours, theirs = (
            {
                one.repetition: one.settled_mb
                for one in run.memory
                if (one.server, one.messages) == (name, _MEMORY_MESSAGES)
            }
            for name in ("cqs", server)
        )
        shared = ours.keys() & theirs.keys()
        if shared:
            return _Found(median(ours[number] / theirs[number] for number in shared), "x", len(shared))
    return None
