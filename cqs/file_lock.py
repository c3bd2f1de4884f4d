"""Exclusive file locks, as used for the data folder, the journal and the console's log of changes."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


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


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Holds the folder's lock, once nobody else does; not even this process, elsewhere. Raises OSError."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        wait_for_lock(fd)
        yield
    finally:
        os.close(fd)
