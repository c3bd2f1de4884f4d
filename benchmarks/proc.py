"""CPU time and memory of a process tree, from /proc.

Memory counts a page that several processes share once (the kernel's proportional set size, PSS); the sum of what `ps`
shows would count the interpreter's own pages once per process.

The difference between two readings is the cost of the window between them. The CPU of children that ended is included
once their parent has waited for them.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")
_MB = 1e6


@dataclass(frozen=True, slots=True)
class Usage:
    """A reading: seconds of CPU since the start, and memory in MB."""

    cpu_s: float
    resident_mb: float
    processes: int


@dataclass(frozen=True, slots=True)
class _Stat:
    name: str
    parent: int
    cpu_s: float
    resident_mb: float


def usage(roots: Iterable[int]) -> Usage:
    """Returns the total of the processes and all their descendants."""
    stats = {pid: stat for pid in _pids() if (stat := _stat(pid)) is not None}
    tree = set(roots) & stats.keys()
    while added := {pid for pid, stat in stats.items() if stat.parent in tree and pid not in tree}:
        tree |= added
    return Usage(
        cpu_s=sum(stats[pid].cpu_s for pid in tree),
        resident_mb=sum(_proportional_mb(pid, stats[pid].resident_mb) for pid in tree),
        processes=len(tree),
    )


@dataclass(frozen=True, slots=True)
class Process:
    """A process of a tree, at one moment."""

    pid: int
    name: str
    resident_mb: float

    def peak_mb(self) -> float:
        """Returns its peak resident memory according to the kernel (VmHWM); 0 if it has ended."""
        try:
            lines = Path(f"/proc/{self.pid}/status").read_text().splitlines()
        except OSError:
            return 0.0
        return next((int(line.split()[1]) * 1_024 / _MB for line in lines if line.startswith("VmHWM:")), 0.0)


def below(root: int) -> list[Process]:
    """Returns all descendants of the process."""
    stats = {pid: stat for pid in _pids() if (stat := _stat(pid)) is not None}
    tree = {root}
    while added := {pid for pid, stat in stats.items() if stat.parent in tree and pid not in tree}:
        tree |= added
    return [Process(pid, stats[pid].name, stats[pid].resident_mb) for pid in tree - {root}]


def _proportional_mb(pid: int, otherwise: float) -> float:
    """Returns the PSS; `otherwise` if the kernel does not provide it or the process has just ended."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return otherwise
    return next((int(line.split()[1]) * 1_024 / _MB for line in lines if line.startswith("Pss:")), otherwise)


def machine_cpu_s() -> float:
    """Returns the CPU seconds that all processes of the machine have used since boot."""
    fields = Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]
    user, nice, system, _idle, _iowait, irq, softirq = map(int, fields[:7])
    return (user + nice + system + irq + softirq) / _TICKS_PER_S


def _pids() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def _stat(pid: int) -> _Stat | None:
    """Returns None if the process has just ended."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    fields = text[text.rindex(")") + 2 :].split()
    ticks = sum(map(int, fields[11:15]))
    return _Stat(
        name=text[text.index("(") + 1 : text.rindex(")")],
        parent=int(fields[1]),
        cpu_s=ticks / _TICKS_PER_S,
        resident_mb=int(fields[21]) * _PAGE / _MB,
    )
