"""Inspects a data folder without locking it: a server may be using it."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from pathlib import Path

from cqs.store.sqlite.schema import FILE_NAME, SCHEMA_VERSION


@dataclass(frozen=True, slots=True)
class FileLook:
    """The database of a data folder. `problem` says what is wrong with it; "" = nothing."""

    path: Path
    size_bytes: int
    problem: str = ""


def look(folder: Path) -> FileLook | None:
    """None when there is no database yet. Reads the whole file (PRAGMA quick_check): about a second a GB."""
    path = folder / FILE_NAME
    try:
        size = path.stat().st_size
    except FileNotFoundError:
        return None
    except OSError as error:
        return FileLook(path, 0, f"it can't be read: {error.strerror}")
    if size == 0:
        return FileLook(path, 0, "it is empty")
    try:
        return FileLook(path, size, _problem(path))
    except sqlite3.Error as error:
        return FileLook(path, size, str(error))


def _problem(path: Path) -> str:
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
    try:
        found = [str(row[0]) for row in connection.execute("PRAGMA quick_check(3)")]
        if found != ["ok"]:
            return "; ".join(found)
        tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if not {"meta", "messages"} <= tables:
            return "it is an SQLite file of another program"
        (version,) = connection.execute("SELECT value FROM meta WHERE name = 'schema_version'").fetchone()
        return "" if version == SCHEMA_VERSION else f"it has schema version {version}, and {SCHEMA_VERSION} is expected"
    finally:
        connection.close()
