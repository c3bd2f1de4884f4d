"""Disk space reserved for deletes: a placeholder file, deleted when the disk is full.

    exists ──a delete, a lease or a checkpoint finds no space──► deleted: they continue, sends are refused
      ▲                                                            │
      └──────────────── there is space for it again ───────────────┘     sends are accepted

It is as large as the WAL may grow, so that a checkpoint can always complete and the WAL starts over; from then on
deletes need no more space. On a small disk it is smaller, and the guarantee weaker.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from cqs.store.sqlite.failures import NO_SPACE

FILE_NAME = "ballast"
BYTES_MAX = 33 << 20
FREE_PART = 16
"""It takes at most 1 / FREE_PART of the space that is free when it is made."""
_BYTES_MIN = 64 << 10


class Ballast:
    """Belongs to the writer's thread, except `is_spent`, which any thread may read."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / FILE_NAME
        self._bytes = 0
        self.is_spent = False
        """The disk was full, and is not known to have space again."""

    def make(self) -> None:
        """Reserves the space if there is enough; idempotent. If files can't be created for other reasons than space,
        there is no ballast, and nothing is refused for lack of it."""
        try:
            self._bytes = self._bytes or max(_BYTES_MIN, min(BYTES_MAX, self._free() // FREE_PART))
            file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            self.is_spent = error.errno in NO_SPACE
            return
        try:
            size = os.fstat(file).st_size
            self._bytes = max(self._bytes, size)
            os.posix_fallocate(file, 0, self._bytes)
            self.is_spent = False
        except OSError as error:
            self.is_spent = error.errno in NO_SPACE
            with suppress(OSError):
                self._path.unlink()
        finally:
            os.close(file)

    def give_up(self) -> bool:
        """Whether there was any ballast to give up."""
        self.is_spent = True
        try:
            self._path.unlink()
        except OSError:
            return False
        return True

    def _free(self) -> int:
        status = os.statvfs(self._path.parent)
        return status.f_bavail * status.f_frsize
