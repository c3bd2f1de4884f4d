"""A folder of audit reports written by jobs: its list of files, and single files. Only regular files below the folder
are served: no symbolic link leads out of it, no name leads above it."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

FILES_MAX = 500
DEPTH_MAX = 3
BYTES_MAX = 20_000_000
TYPES = {
    ".html": "text/html; charset=utf-8",
    ".md": "text/plain; charset=utf-8",
    ".txt": "text/plain; charset=utf-8",
    ".json": "application/json",
    ".jsonl": "text/plain; charset=utf-8",
    ".csv": "text/csv; charset=utf-8",
    ".png": "image/png",
    ".svg": "image/svg+xml",
}


class Report(msgspec.Struct, frozen=True):
    """A file. `name` is its path below the folder."""

    name: str
    size: int
    changed_ms: int


def listed(folder: Path) -> list[Report]:
    """Newest first; at most FILES_MAX. Empty for a folder that can't be read."""
    found: list[Report] = []
    for path in _walk(folder, DEPTH_MAX):
        told = path.stat(follow_symlinks=False)
        found.append(Report(path.relative_to(folder).as_posix(), told.st_size, int(told.st_mtime * 1_000)))
    found.sort(key=lambda report: report.changed_ms, reverse=True)
    return found[:FILES_MAX]


def read(folder: Path, name: str) -> tuple[bytes, str] | None:
    """The bytes and content type of a listed file; None for anything else, or a file that is too large."""
    if not any(report.name == name for report in listed(folder)):
        return None
    path = folder / name
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None
    with os.fdopen(descriptor, "rb") as file:
        content = file.read(BYTES_MAX + 1)
    return (content, TYPES[path.suffix]) if len(content) <= BYTES_MAX else None


def _walk(folder: Path, depth: int) -> list[Path]:
    try:
        entries = sorted(folder.iterdir())[: FILES_MAX * 2]
    except OSError:
        return []
    found: list[Path] = []
    for entry in entries:
        if entry.is_symlink() or entry.name.startswith("."):
            continue
        if entry.is_dir() and depth > 1:
            found += _walk(entry, depth - 1)
        elif entry.is_file() and entry.suffix in TYPES:
            found.append(entry)
    return found
