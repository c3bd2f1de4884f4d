"""The files of a SQLite store, and their sizes."""

from __future__ import annotations

from pathlib import Path

from cqs import folders
from cqs.store.report import StoreFile

_SUFFIXES = ("", "-wal", "-shm")
"""The database, the commits not yet in it (WAL), and the WAL's index."""


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
