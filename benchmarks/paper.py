"""The table of the CQS paper, its figures next to ours: 10 queues, each with 2 senders and 2 receivers, 45 ms of
processing per message, and targets of 10 … 1,000 messages per queue and second. `benchmarks.cluster` measures it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

from benchmarks.results import Calls, Run, Sample

QUEUES, CONNECTIONS, NODES = 10, 20, 2
PAUSE_MS = 7
"""The pause of a receiver after an empty response. The paper's receivers made about 100 calls per second each when
nearly all were empty, at 2 ms per response. Without a pause ours would poll as fast as they can, which would take both
cores."""
_HEAD = (
    "goal a queue", "sent/s (paper)", "range", "empty receives % (paper)", "calls/s a node (paper)",
    "p50 ms of send, receive, delete (paper: all)", "p95 ms (paper: all)", "cores busy of 2: API, others, load",
    "MB an API process", "duplicates", "lost",
)  # fmt: skip
PAPER_WORDS = """\
Ours: two API processes, a Redis and a Cassandra node on two cores, including the clients; medians of the rounds. The
paper's: two API servers and eight Cassandra nodes, each on its own virtual machine. A receiver that got nothing asks
again after 7 ms, as often as the paper's did. The time of a send counts from when it was due, so where the goal is
more than the machine can do, it includes the queueing in front of the server. "others" are Cassandra and whatever
else ran, "load" is the load generator: together 1.8 to 1.9 of two cores where the machine is full, or all of them if
nothing waits for the disk. Goals of 90 and 125 are not in the paper. A receiver takes up to ten messages
per call, and deletes what it got in one call: three at a goal of 100.
"""
PAPER_SYNCS = {
    "batch": "With writes acknowledged by Cassandra once they are on disk (`commitlog_sync: batch`):",
    "periodic": "With writes acknowledged before (`periodic`, the default; the paper does not say which it used):",
}


@dataclass(frozen=True, slots=True)
class Theirs:
    """A row of the paper's table (two API servers, eight Cassandra nodes, all virtual machines)."""

    sent_per_s: int
    empty_percent: int
    ops_per_node: int
    median_ms: int
    p95_ms: int


PAPER = {
    10: Theirs(97, 95, 1156, 2, 8),
    50: Theirs(420, 77, 1324, 2, 22),
    75: Theirs(528, 65, 1299, 3, 35),
    90: None,
    100: Theirs(559, 55, 1170, 4, 50),
    125: None,
    250: Theirs(706, 29, 1195, 12, 160),
    500: Theirs(775, 16, 1233, 13, 150),
    1000: Theirs(718, 11, 1127, 14, 150),
}
"""The paper's rows by target. Two more targets, where this machine saturates, are only ours."""


_CORES: tuple[Callable[[Sample], float], ...] = (
    lambda one: one.cpu_s / one.load.seconds,
    lambda one: one.other_cpu,
    lambda one: one.load.generator_cpu_s / one.load.seconds,
)
"""Cores busy with the API processes, with everything else, and with the load."""


def scenario_of(goal: int, sync: str = "batch") -> str:
    """Returns a row's name in raw results. `sync`: commitlog_sync of Cassandra."""
    return f"goal-{goal}" if sync == "batch" else f"goal-{goal}-{sync}"


def flags_of(goal: int, seconds: float) -> list[str]:
    """Returns the flags of the load generator."""
    flags = ["-mode=rate", f"-queues={QUEUES}", f"-clients={CONNECTIONS}", f"-receivers={CONNECTIONS}", "-sign"]
    flags += [f"-rate={goal * QUEUES}", "-processing=45ms", f"-pause={PAUSE_MS}ms", "-size=1024"]
    return [*flags, "-warmup=2s", f"-duration={seconds}s", "-drain=60s"]


def paper_table(runs: Sequence[Run], sync: str = "batch") -> list[str]:
    """Returns the newest run's table as lines of Markdown; none if no run measured it."""
    for run in reversed(runs):
        mine: dict[str, list[Sample]] = {}
        for sample in run.samples:
            mine.setdefault(sample.scenario, []).append(sample)
        measured = {goal: mine[name] for goal in PAPER if (name := scenario_of(goal, sync)) in mine}
        rows = [_row(goal, PAPER[goal], samples) for goal, samples in measured.items()]
        if rows:
            return [line(_HEAD), line(["--:"] * len(_HEAD)), *rows]
    return []


def _row(goal: int, theirs: Theirs | None, samples: Sequence[Sample]) -> str:
    def middle(value: Callable[[Sample], float]) -> float:
        return median(map(value, samples))

    def of_each(value: Callable[[Calls], float], places: int) -> str:
        kinds = ("send", "receive", "delete")
        told = [[value(one.load.calls[kind]) for one in samples if kind in one.load.calls] for kind in kinds]
        return ", ".join(f"{median(values):.{places}f}" for values in told if values)

    def beside(mine: str, figure: Callable[[Theirs], int]) -> str:
        return mine if theirs is None else f"{mine} ({figure(theirs):,})"

    sent = [one.load.calls["send"].messages_per_s for one in samples]
    errors = sum(one.load.errors for one in samples)
    return line(
        (
            f"{goal:,}",
            beside(f"{median(sent):,.0f}", lambda row: row.sent_per_s),
            f"{min(sent):,.0f} to {max(sent):,.0f}",
            beside(f"{middle(_empty_percent):.0f}", lambda row: row.empty_percent),
            beside(f"{middle(_calls_per_s) / NODES:,.0f}", lambda row: row.ops_per_node),
            beside(of_each(lambda calls: calls.latency_ms.p50, 1), lambda row: row.median_ms),
            beside(of_each(lambda calls: calls.latency_ms.p95, 0), lambda row: row.p95_ms),
            ", ".join(f"{middle(cores):.2f}" for cores in _CORES),
            f"{max(one.largest_mb for one in samples):.0f}",
            str(sum(one.load.duplicates for one in samples)),
            str(sum(one.load.waiting for one in samples)) + (f", {errors} errors" if errors else ""),
        )
    )


def _empty_percent(sample: Sample) -> float:
    load = sample.load
    received = load.calls["receive"].calls if "receive" in load.calls else 0
    return 100 * load.empty_receives / max(1, load.empty_receives + received)


def _calls_per_s(sample: Sample) -> float:
    load = sample.load
    return (sum(calls.calls for calls in load.calls.values()) + load.empty_receives) / load.seconds


def line(cells: Sequence[str]) -> str:
    """A row of a Markdown table."""
    return "| " + " | ".join(cells) + " |"
