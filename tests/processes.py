"""Processes, as Linux knows them."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path


def runs(pid: int) -> bool:
    """A process that ended and was not waited for does not."""
    try:
        return ") Z " not in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False


def is_stopped(pid: int) -> bool:
    """All threads of it, which a signal that stops it reaches one by one."""
    states = [path.read_text().rpartition(")")[2].split()[0] for path in Path(f"/proc/{pid}/task").glob("*/stat")]
    return set(states) == {"T"}


def children_of(pid: int) -> list[int]:
    """Those it started and did not wait for yet."""
    return list(map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split()))


def descendants_of(pid: int) -> list[int]:
    """Those it started, by whatever thread, and those that these started."""
    found: list[int] = []
    with suppress(OSError):
        for task in list(Path(f"/proc/{pid}/task").glob("*/children")):
            found += map(int, task.read_text().split())
    return found + [each for child in found for each in descendants_of(child)]


def name_of(pid: int) -> str:
    """Of its program; "" when it ended."""
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


def command_of(pid: int) -> list[str]:
    """The words it was started with; [] when it ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().split("\0")[:-1]
    except OSError:
        return []
