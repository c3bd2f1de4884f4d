"""The files of a SQLite store: their sizes, and whether they belong together."""

from __future__ import annotations

from pathlib import Path

from cqs import folders
from cqs.store.report import StoreFile

_WAL = "-wal"
_SUFFIXES = ("", _WAL, "-shm")
"""The database, the commits not yet in it (WAL), and the WAL's index."""
_MAGIC = b"SQLite format 3\0"
_VERSION_AT, _NOT_IN_WAL_MODE = 18, b"\x01"
"""Offset of the header's write version, and its value in a file that no store has opened yet: SQLite sets it to 2
before it creates a WAL, but not in what `VACUUM INTO` and `.recover` make."""


def files_of(file: Path) -> tuple[StoreFile, ...]:
    """Those files of the database at this path that exist now."""
    found = []
    for suffix in _SUFFIXES:
        path = file.with_name(file.name + suffix)
        try:
            found.append(StoreFile(path=folders.readable(path), size_bytes=path.stat().st_size))
        except OSError:
            continue
    return tuple(found)


def wal_fault(file: Path) -> tuple[str, str] | None:
    """SQLite applies a WAL to whatever database it finds beside it, which damages any other than the one it was written
    for. What is wrong and what to do if the database at this path is missing or another one; None = nothing. Raises
    OSError."""
    wal = file.with_name(file.name + _WAL)
    if not _size_of(wal):
        return None
    if not file.exists():
        remedy = "put it back; or restore a copy into an empty data directory"
        return f"{file} is missing, but its latest commits are in {wal}", remedy
    with file.open("rb") as opened:
        header = opened.read(_VERSION_AT + 1)
    if not header.startswith(_MAGIC) or header[_VERSION_AT:] != _NOT_IN_WAL_MODE:
        return None
    problem = f"{wal} belongs to the database that was there before {file.name}, and would damage this one"
    return problem, f"move {wal.name} away, or restore into an empty data directory"


def _size_of(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
