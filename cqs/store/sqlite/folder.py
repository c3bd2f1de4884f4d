"""The data directory: its permissions, and the lock that keeps it to one process.

SQLite's own locks would let two servers take turns in one file, each with its own view in memory. So an exclusive
`flock` on a separate file is held as long as the store is open. The kernel releases it when the process is dead and its
writer process (which inherited the lock) has finished its current commit. A start waits for that.
"""

from __future__ import annotations

import os
import sqlite3
import time
from contextlib import suppress
from pathlib import Path

from cqs import file_lock, folders
from cqs.errors import DataInUse, StoreUnavailable
from cqs.store.sqlite.failures import told
from cqs.store.sqlite.files import wal_fault
from cqs.store.sqlite.schema import FILE_NAME, make_file

LOCK_NAME = "lock"
FILE_MODE = 0o600
FOLDER_MODE = 0o700
LOOKS_MAX = 500
"""How often, every _LOOK_S, a start checks whether a dead server's writer has ended."""
_LOOK_S = 0.02
PATH_BYTES_MAX = 488
"""SQLite's 512, less the name of a new database and of the files beside it."""


class Folder:
    """A data directory and its lock."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.file = path / FILE_NAME
        self._lock: int | None = None

    def take(self) -> None:
        """Creates the directory and its files if missing, readable only by their owner, and locks them. Raises
        DataInUse, StoreUnavailable."""
        try:
            self._check_length()
            folders.make(self.path, FOLDER_MODE)
            lock = os.open(self.path / LOCK_NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, FILE_MODE)
        except OSError as error:
            reason = "it is a file" if isinstance(error, FileExistsError) else error.strerror
            raise StoreUnavailable(f"The data directory {self.path} can't be used: {reason}.") from error
        try:
            self._hold(lock)
            self._take_file()
        except OSError as error:
            os.close(lock)
            raise StoreUnavailable(f"{self.file} can't be opened for writing: {error.strerror}.") from error
        except sqlite3.Error as error:
            os.close(lock)
            raise told(error, self.file) from error
        except StoreUnavailable:
            os.close(lock)
            raise
        self._lock = lock

    def _check_length(self) -> None:
        length = len(os.fsencode(self.path.resolve()))
        if length > PATH_BYTES_MAX:
            raise StoreUnavailable(
                f"The data directory {self.path} can't be used: its path has {length} bytes, and SQLite allows "
                f"{PATH_BYTES_MAX} for it."
            )

    def _take_file(self) -> None:
        """An existing file must be a database. A new one is made under another name and moved into place when it is
        valid, so that no crash leaves an empty file."""
        if fault := wal_fault(self.file):
            raise StoreUnavailable("{}: {}.".format(*fault))
        try:
            os.close(os.open(self.file, os.O_RDWR | os.O_CLOEXEC))
        except FileNotFoundError:
            make_file(self.file, FILE_MODE)
        self.file.chmod(FILE_MODE)
        if self.file.stat().st_size == 0:
            raise StoreUnavailable(
                f"{self.file} is empty, which a data file never is: restore a copy of it, or delete it if nothing was "
                "ever in it."
            )

    def _hold(self, lock: int) -> None:
        looks = 0
        while not file_lock.lock(lock):
            looks += 1
            owner = os.pread(lock, 32, 0).decode(errors="replace").strip()
            if not owner.isdigit() or _is_alive(int(owner)) or looks > LOOKS_MAX:
                raise DataInUse(str(self.path), owner or "unknown")
            time.sleep(_LOOK_S)
        with suppress(OSError):
            os.ftruncate(lock, 0)
            os.pwrite(lock, str(os.getpid()).encode(), 0)

    @property
    def lock(self) -> int:
        """The lock's file descriptor, while it is held."""
        assert self._lock is not None, "the folder is not taken"
        return self._lock

    def give_up(self) -> None:
        """Idempotent."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def identity_of(file: Path) -> tuple[int, int] | None:
    """Identifies the file at the path, if there is one."""
    try:
        status = os.stat(file)
    except OSError:
        return None
    return status.st_dev, status.st_ino
