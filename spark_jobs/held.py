"""Files that another process has locked: a server's data folder, a journal's file."""

from __future__ import annotations

import fcntl
from contextlib import suppress
from pathlib import Path


def is_held(path: Path) -> bool:
    """Whether a process holds its lock; False if the file does not exist."""
    with suppress(FileNotFoundError), path.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False
