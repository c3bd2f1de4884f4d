"""A file that one process has for itself: a folder's, a journal's."""

from __future__ import annotations

import fcntl


def lock(fd: int) -> bool:
    """Takes the file for this process; False when another holds it. Ends with the process and whoever it gave the
    descriptor to, or when that is closed."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
