"""Folders on the disk. A file that was fsynced is found after a power cut only by names that were, too."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path


def make(folder: Path, mode: int) -> None:
    """With its parents, where they are missing, and durable as far as this process may read them. Raises OSError."""
    missing = [one for one in (folder, *folder.parents) if not one.exists()]
    folder.mkdir(mode=mode, parents=True, exist_ok=True)
    for one in missing:
        with suppress(PermissionError):
            sync(one.parent)


def sync(folder: Path) -> None:
    """The names in it are durable. Raises OSError."""
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def readable(path: Path) -> str:
    """As text; bytes that are no Unicode, which a path may have and an answer may not, as escapes."""
    return os.fsencode(path).decode(errors="backslashreplace")
