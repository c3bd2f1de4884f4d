"""The table of the CQS paper, its figures beside ours: 10 queues, 2 senders and 2 receivers each, 45 ms of work a
message, and goals of 10 … 1,000 messages a queue a second. `benchmarks.cluster` measures it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.results import Run, Sample

QUEUES, CONNECTIONS, NODES = 10, 20, 2
_HEAD = (
    "goal a queue", "sent/s (paper)", "empty receives % (paper)", "calls/s a node (paper)",
    "p50 ms of send, receive, delete (paper: all)", "p95 ms (paper: all)", "cores: API, others", "MB an API process",
    "duplicates", "lost",
)  # fmt: skip
PAPER_WORDS = """\
Ours: two API processes, a Redis and a Cassandra node on two cores, clients included. The paper's: two API servers and
eight Cassandra nodes, on virtual machines of their own. "others" are Cassandra and whatever else ran.
"""


@dataclass(frozen=True, slots=True)
class Theirs:
    """A row of the paper's table (two API servers, eight Cassandra nodes, all virtual machines)."""

    goal: int
    sent_per_s: int
    empty_percent: int
    ops_per_node: int
    median_ms: int
    p95_ms: int


PAPER = (
    Theirs(10, 97, 95, 1156, 2, 8),
    Theirs(50, 420, 77, 1324, 2, 22),
    Theirs(75, 528, 65, 1299, 3, 35),
    Theirs(100, 559, 55, 1170, 4, 50),
    Theirs(250, 706, 29, 1195, 12, 160),
    Theirs(500, 775, 16, 1233, 13, 150),
    Theirs(1000, 718, 11, 1127, 14, 150),
)


def scenario_of(goal: int) -> str:
    """A row's name in raw results."""
    return f"goal-{goal}"


def flags_of(goal: int, seconds: float) -> list[str]:
    """The load generator's."""
    flags = ["-mode=rate", f"-queues={QUEUES}", f"-clients={CONNECTIONS}", f"-receivers={CONNECTIONS}", "-sign"]
    flags += [f"-rate={goal * QUEUES}", "-processing=45ms", "-size=1024", "-warmup=2s", f"-duration={seconds}s"]
    return [*flags, "-drain=60s"]


def paper_table(runs: Sequence[Run]) -> list[str]:
    """The newest run's, as lines of Markdown; none when no run measured it."""
    for run in reversed(runs):
        mine = {sample.scenario: sample for sample in run.samples}
        rows = [(theirs, mine[scenario_of(theirs.goal)]) for theirs in PAPER if scenario_of(theirs.goal) in mine]
        if rows:
            return [line(_HEAD), line(["--:"] * len(_HEAD)), *(_row(theirs, sample) for theirs, sample in rows)]
    return []


def _row(theirs: Theirs, sample: Sample) -> str:
    load = sample.load
    kinds = [load.calls[kind] for kind in ("send", "receive", "delete") if kind in load.calls]
    made = sum(calls.calls for calls in load.calls.values()) + load.empty_receives
    received = load.calls["receive"].calls if "receive" in load.calls else 0
    empty = 100 * load.empty_receives / max(1, load.empty_receives + received)
    return line(
        (
            f"{theirs.goal:,}",
            f"{load.calls['send'].messages_per_s:,.0f} ({theirs.sent_per_s})",
            f"{empty:.0f} ({theirs.empty_percent})",
            f"{made / load.seconds / NODES:,.0f} ({theirs.ops_per_node:,})",
            ", ".join(f"{calls.latency_ms.p50:.1f}" for calls in kinds) + f" ({theirs.median_ms})",
            ", ".join(f"{calls.latency_ms.p95:.0f}" for calls in kinds) + f" ({theirs.p95_ms})",
            f"{sample.cpu_s / load.seconds:.2f}, {sample.other_cpu:.2f}",
            f"{sample.largest_mb:.0f}",
            str(load.duplicates),
            str(load.waiting) + (f", {load.errors} errors" if load.errors else ""),
        )
    )


def line(cells: Sequence[str]) -> str:
    """A row of a Markdown table."""
    return "| " + " | ".join(cells) + " |"
