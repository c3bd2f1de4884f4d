"""Processes, as Linux knows them."""

from __future__ import annotations

from pathlib import Path


def runs(pid: int) -> bool:
    """A process that ended and was not waited for does not."""
    try:
        return ") Z " not in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False


def children_of(pid: int) -> list[int]:
    """Those it started and did not wait for yet."""
    return list(map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split()))
