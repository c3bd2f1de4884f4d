"""Folders on disk. An fsynced file survives a power failure only if the folder entries that lead to it were fsynced,
too.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path


def make(folder: Path, mode: int) -> None:
    """Creates the folder and missing parents, durably as far as this process may read them. Raises OSError."""
    missing = [one for one in (folder, *folder.parents) if not one.exists()]
    folder.mkdir(mode=mode, parents=True, exist_ok=True)
    for one in missing:
        with suppress(PermissionError):
            sync(one.parent)


def sync(folder: Path) -> None:
    """Makes the folder's entries durable. Raises OSError."""
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def readable(path: Path) -> str:
    """The path as text, with bytes that are not valid Unicode escaped: a path may contain them, a response may not."""
    return os.fsencode(path).decode(errors="backslashreplace")
