"""Translates SQLite's errors into the store's: what happened, whether anything was written, and what to do."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

from cqs.errors import OutcomeUnknown, StoreUnavailable

_NOTHING_DONE_AT_COMMIT = frozenset(
    {sqlite3.SQLITE_FULL, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_CORRUPT}
)
"""Codes with which a COMMIT fails before its last frame is in the WAL; without that frame it did not happen. After
other errors (a failed fsync) the frame may be there and take effect after a crash."""

WAL_INDEX_BYTES = 65_536
"""More than the first part of a WAL's index."""


def code_of(error: sqlite3.Error) -> int:
    """The primary result code."""
    return int(getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)) & 0xFF


def is_full(error: sqlite3.Error) -> bool:
    return code_of(error) == sqlite3.SQLITE_FULL


def is_damage(error: sqlite3.Error) -> bool:
    return code_of(error) in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def told(error: sqlite3.Error, file: Path, *, is_commit: bool = False) -> StoreUnavailable | OutcomeUnknown:
    """The error to raise `from error`. `is_commit`: a COMMIT failed, or a statement that was its own transaction."""
    code = code_of(error)
    if is_commit and code not in _NOTHING_DONE_AT_COMMIT:
        return OutcomeUnknown(f"Writing {file} failed ({error}); whether it took effect is not known.")
    if code == sqlite3.SQLITE_FULL or (code == sqlite3.SQLITE_IOERR and _has_no_space(file)):
        return StoreUnavailable(full_text(file))
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return StoreUnavailable(
            f"{file} is damaged ({error}): restore a copy, or save what is readable with "
            f"`sqlite3 {file} .recover` into a new file and put that in its place."
        )
    if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM):
        return StoreUnavailable(f"{file} can't be written ({error}): check its owner and that the disk is writable.")
    return StoreUnavailable(f"{file} failed: {error}.")


def _has_no_space(file: Path) -> bool:
    """SQLite reports an I/O error when there is no space for the index of its WAL."""
    try:
        status = os.statvfs(file.parent)
    except OSError:
        return False
    return status.f_bavail * status.f_frsize < WAL_INDEX_BYTES


def full_text(file: Path) -> str:
    return f"The disk of {file.parent} is full: free space there. Nothing was written."


def gone_text(file: Path) -> str:
    return f"{file} was deleted or replaced: put it back. Nothing was written."
