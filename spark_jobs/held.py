"""Files that another process has for itself: a server's data folder, a journal's file."""

from __future__ import annotations

import fcntl
from contextlib import suppress
from pathlib import Path


def is_held(path: Path) -> bool:
    """Whether a process holds its lock; of a file that does not exist none does."""
    with suppress(FileNotFoundError), path.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False
