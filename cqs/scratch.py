"""Folders for temporary files that are left to nobody: a process that is killed can't remove its own, so the next one
to make such a folder does.

The owner keeps the folder itself locked, and so do processes forked from it. A folder that nobody has locked is a
leftover. (systemd-tmpfiles passes over locked folders, too.)
"""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

from cqs.errors import CannotStart
from cqs.file_lock import lock

SOCKET_PATH_BYTES_MAX = 107
"""Of the path of a Unix socket, on Linux."""
_NAME_BYTES_MAX = len("/redis.sock")
"""Of a socket's name in such a folder."""


class Scratch:
    """A new folder, and the lock on it. `prefix` says what it is for; only this class may make folders that begin so,
    because those without a lock are removed."""

    def __init__(self, prefix: str) -> None:
        """Raises CannotStart if Unix sockets can't be made in it, because its path is too long; OSError."""
        _remove_leftovers(prefix)
        while True:
            self.path = Path(tempfile.mkdtemp(prefix=prefix))
            with suppress(FileNotFoundError):
                self._locked = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY)
                if lock(self._locked) and self.path.exists():
                    break
                os.close(self._locked)  # Another process took it for a leftover before it was locked.
        if len(os.fsencode(self.path)) + _NAME_BYTES_MAX > SOCKET_PATH_BYTES_MAX:
            self.remove()
            raise CannotStart(
                f"{self.path} is too long a path for Unix sockets; set TMPDIR to a folder of a shorter one"
            )

    def remove(self) -> None:
        """Removes the folder and what is in it. Idempotent; never raises."""
        shutil.rmtree(self.path, ignore_errors=True)
        if self._locked >= 0:
            os.close(self._locked)
            self._locked = -1


def _remove_leftovers(prefix: str) -> None:
    """Those of this user alone. Never raises OSError."""
    with suppress(OSError):
        for path in Path(tempfile.gettempdir()).glob(f"{prefix}*"):
            with suppress(OSError):
                _remove_if_left(path)


def _remove_if_left(path: Path) -> None:
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        if os.fstat(fd).st_uid == os.geteuid() and lock(fd):
            shutil.rmtree(path, ignore_errors=True)
    finally:
        os.close(fd)
