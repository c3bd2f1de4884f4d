"""Translates SQLite's errors into the store's: what happened, whether anything was written, and what to do."""

from __future__ import annotations

import errno
import os
import sqlite3
import tempfile
from pathlib import Path

from cqs.errors import OutcomeUnknown, StoreUnavailable

_NOTHING_DONE_AT_COMMIT = frozenset(
    {sqlite3.SQLITE_FULL, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_CORRUPT}
)
"""Codes with which a COMMIT fails before its last frame is in the WAL; without that frame it did not happen. After
other errors (a failed fsync) the frame may be there and take effect after a crash."""

NO_SPACE = frozenset({errno.ENOSPC, errno.EDQUOT})
SPACE_BYTES = 32 << 20
"""More than a commit takes."""


class DiskFull(StoreUnavailable):
    """Nothing was written for lack of space."""


def code_of(error: sqlite3.Error) -> int:
    """The primary result code."""
    return int(getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)) & 0xFF


def is_damage(error: sqlite3.Error) -> bool:
    return code_of(error) in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def told(error: sqlite3.Error, file: Path, *, is_commit: bool = False) -> StoreUnavailable | OutcomeUnknown:
    """The error to raise `from error`. `is_commit`: a COMMIT failed, or a statement that was its own transaction."""
    code = code_of(error)
    is_full = code == sqlite3.SQLITE_FULL or (code == sqlite3.SQLITE_IOERR and _has_no_space(file))
    is_refused = is_full and getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_IOERR_WRITE
    if is_commit and code not in _NOTHING_DONE_AT_COMMIT and not is_refused:
        return OutcomeUnknown(f"Writing {file} failed ({error}); whether it took effect is not known.")
    if is_full:
        return DiskFull(full_text(file))
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return StoreUnavailable(
            f"{file} is damaged ({error}): restore a copy, or save what is readable with "
            f"`sqlite3 {file} .recover` into a new file and put that in its place."
        )
    if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM):
        return StoreUnavailable(_unwritable_text(file, error))
    return StoreUnavailable(f"{file} failed: {error}.")


def check_writable(file: Path) -> None:
    """SQLite opens files that it may only read without an error, and goes on to refuse every write when they are
    writable again. Raises StoreUnavailable for such files."""
    for path in (file, file.with_name(f"{file.name}-wal"), file.with_name(f"{file.name}-shm")):
        if path.exists() and not os.access(path, os.W_OK, effective_ids=True):
            raise StoreUnavailable(_unwritable_text(path, "it may only be read"))


def _has_no_space(file: Path) -> bool:
    """SQLite reports an I/O error when there is no space for the index of its WAL, and when a quota is used up, which
    the disk's own figures need not show."""
    try:
        with tempfile.TemporaryFile(dir=file.parent) as space:
            os.posix_fallocate(space.fileno(), 0, SPACE_BYTES)
    except OSError as error:
        return error.errno in NO_SPACE
    return False


def _unwritable_text(file: Path, reason: object) -> str:
    return f"{file} can't be written ({reason}): check its owner and that the disk is writable."


def full_text(file: Path) -> str:
    return f"The disk of {file.parent} is full, or a quota used up: free space there. Nothing was written."


def gone_text(file: Path) -> str:
    return f"{file} was deleted or replaced: put it back. Nothing was written."
