"""Exclusive file locks, as used for the data folder and the journal."""

from __future__ import annotations

import fcntl


def wait_for_lock(fd: int) -> None:
    """Locks the file for this process once nobody else holds it, even one that only checks who does."""
    fcntl.flock(fd, fcntl.LOCK_EX)


def lock(fd: int) -> bool:
    """Locks the file for this process; False if another one holds it. The lock ends when every process that has the
    descriptor has exited or closed it."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
