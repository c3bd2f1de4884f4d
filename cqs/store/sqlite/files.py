"""The files that a SQLite store keeps, and how large they are."""

from __future__ import annotations

from pathlib import Path

from cqs import folders
from cqs.store.report import StoreFile

_SUFFIXES = ("", "-wal", "-shm")
"""The database, what is not in it yet, and the index of that."""


def files_of(file: Path) -> tuple[StoreFile, ...]:
    """Those of the database at this path that are there now."""
    found = []
    for suffix in _SUFFIXES:
        path = file.with_name(file.name + suffix)
        try:
            found.append(StoreFile(path=folders.readable(path), size_bytes=path.stat().st_size))
        except OSError:
            continue
    return tuple(found)
