"""Looks up processes in Linux's /proc."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path


def runs(pid: int) -> bool:
    """Whether the process is running; a zombie is not."""
    try:
        return ") Z " not in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False


def is_stopped(pid: int) -> bool:
    """Whether all its threads are stopped: a stop signal reaches them one by one."""
    states = [path.read_text().rpartition(")")[2].split()[0] for path in Path(f"/proc/{pid}/task").glob("*/stat")]
    return set(states) == {"T"}


def children_of(pid: int) -> list[int]:
    """Returns the child processes of its main thread that were not waited for yet."""
    return list(map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split()))


def descendants_of(pid: int) -> list[int]:
    """Returns the children of all its threads, and their descendants."""
    found: list[int] = []
    with suppress(OSError):
        for task in list(Path(f"/proc/{pid}/task").glob("*/children")):
            found += map(int, task.read_text().split())
    return found + [each for child in found for each in descendants_of(child)]


def name_of(pid: int) -> str:
    """Returns the name of its program; "" if it has ended."""
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


def command_of(pid: int) -> list[str]:
    """Returns its command line; [] if it has ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().split("\0")[:-1]
    except OSError:
        return []


def hurry(pid: int) -> bool:
    """Takes the process out of SCHED_IDLE, in which it hardly runs on a busy machine. Returns whether it was in it; if
    this process may not do that, as only root may, it stays in it."""
    try:
        was_idle = os.sched_getscheduler(pid) == os.SCHED_IDLE
        os.sched_setscheduler(pid, os.SCHED_OTHER, os.sched_param(0))
    except PermissionError:
        return True
    except ProcessLookupError:
        return False
    return was_idle
