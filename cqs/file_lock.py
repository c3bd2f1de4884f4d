"""A file that one process has for itself: a folder's, a journal's."""

from __future__ import annotations

import fcntl


def wait_for_lock(fd: int) -> None:
    """Takes the file for this process when nobody else has it any more, not even one that just looks who has it."""
    fcntl.flock(fd, fcntl.LOCK_EX)


def lock(fd: int) -> bool:
    """Takes the file for this process; False when another holds it. Ends with the process and whoever it gave the
    descriptor to, or when that is closed."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
