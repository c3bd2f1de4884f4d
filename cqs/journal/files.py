"""The journal's folder: file names, finishing, pruning. Used by the writer, and by `cqs journal` beside a running
server.

    api-1.20260131T120000250.0f3a9c1b2d4e5.000001.jsonl.open     being written, locked (flock) by its writer
    api-1.20260131T120000250.0f3a9c1b2d4e5.000001.jsonl.gz       finished
    ….jsonl.gz.part                                           being compressed

A file becomes `.gz` in one rename, after fsync. An unlocked `.open` file was left by a process that died or by a full
disk: it is finished as it is, without a closing line, from which readers see the gap. If it is empty, it is deleted:
its writer died, or is about to lock it and will create it again.
"""

from __future__ import annotations

import contextlib
import gzip
import os
import re
import shutil
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

from cqs.file_lock import lock

_GzipFile: type[gzip.GzipFile]
try:
    from isal import igzip
except ImportError:  # there is no wheel for this processor
    _GzipFile = gzip.GzipFile
else:
    _GzipFile = igzip.IGzipFile

_NAME = re.compile(
    r"(?P<node>[A-Za-z0-9._-]{1,64})\.(?P<start>\d{8}T\d{9})\.(?P<incarnation>[0-9a-f]{13})\.(?P<file>\d{6,})"
    r"\.jsonl(?P<end>\.open|\.gz)"
)
_COPY_BYTES = 1 << 20
_LEVEL = 1
"""A third of the time that zlib takes, and fewer bytes."""


@dataclass(frozen=True, slots=True)
class JournalFile:
    """One file of the folder, as it was when listed."""

    path: Path
    node: str
    start: str
    incarnation: str
    file: int
    is_finished: bool
    size: int

    @property
    def order(self) -> tuple[str, str, int]:
        return self.start, self.incarnation, self.file


def name_of(node: str, incarnation: str, started_ms: int, file: int) -> str:
    """The name of a file being written. `started_ms`, the start of the incarnation, is written in full: names sort by
    it."""
    start = datetime.fromtimestamp(started_ms // 1_000, UTC).strftime("%Y%m%dT%H%M%S")
    return f"{node}.{start}{started_ms % 1_000:03}.{incarnation}.{file:06}.jsonl.open"


def node_name(text: str) -> str:
    """The node id, made safe for a file name that is not hidden. A long one keeps its end, in which workers differ."""
    return re.sub(r"[^A-Za-z0-9._-]", "-", text)[-64:].lstrip("._") or "node"


def files_of(folder: Path) -> list[JournalFile]:
    """All journal files, oldest first; [] without a folder. Raises OSError."""
    found: list[JournalFile] = []
    if not folder.is_dir():
        return found
    for path in folder.iterdir():
        match = _NAME.fullmatch(path.name)
        if match is not None:
            with contextlib.suppress(FileNotFoundError):
                size = path.stat().st_size
                is_finished = match["end"] == ".gz"
                found.append(
                    JournalFile(
                        path, match["node"], match["start"], match["incarnation"], int(match["file"]), is_finished, size
                    )
                )
    return sorted(found, key=lambda file: file.order)


def predecessor_of(folder: Path, node: str, incarnation: str) -> str:
    """The node's most recent other incarnation with files in the folder; "" without one. Raises OSError."""
    others = [file for file in files_of(folder) if file.node == node and file.incarnation != incarnation]
    return others[-1].incarnation if others else ""


def finish_leftovers(folder: Path) -> int:
    """Finishes every `.open` file that no process has locked; returns how many. Raises OSError."""
    return sum(_finish(file.path) for file in files_of(folder) if not file.is_finished)


def prune(folder: Path, bytes_max: int) -> tuple[int, int]:
    """Deletes the oldest finished files until the rest takes at most `bytes_max`; returns the files and bytes
    deleted."""
    finished = [file for file in files_of(folder) if file.is_finished]
    excess = sum(file.size for file in finished) - bytes_max
    files = freed = 0
    for file in finished:
        if freed >= excess:
            break
        file.path.unlink(missing_ok=True)
        files += 1
        freed += file.size
    return files, freed


def sync_folder(folder: Path) -> None:
    fd = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _finish(path: Path) -> bool:
    try:
        fd = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return False
    with open(fd, "rb") as source:
        if not lock(fd):
            return False
        found = os.fstat(fd)
        if found.st_nlink == 0:  # Another process finished it; the path may be another file's by now.
            return False
        target = path.with_suffix(".gz")
        if found.st_size and not target.exists():
            _compress(source, target)
            sync_folder(path.parent)
        path.unlink(missing_ok=True)
    return True


def _compress(source: BinaryIO, target: Path) -> None:
    """Durable and complete, or not at all: a file that did not fit on a full disk is removed."""
    part = target.with_suffix(".gz.part")
    try:
        with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as raw:
            with _GzipFile(filename="", mode="wb", compresslevel=_LEVEL, fileobj=raw, mtime=0) as packed:
                shutil.copyfileobj(source, packed, _COPY_BYTES)
            raw.flush()
            _let_the_same_read(raw.fileno(), os.fstat(source.fileno()))
            os.fsync(raw.fileno())
        part.rename(target)
    except OSError:
        part.unlink(missing_ok=True)
        raise


def _let_the_same_read(fd: int, source: os.stat_result) -> None:
    """Gives the file the owner and the mode of the other one, which may be another user's when `cqs journal prune`
    finishes it."""
    with contextlib.suppress(PermissionError):
        os.fchown(fd, source.st_uid, source.st_gid)
    os.fchmod(fd, source.st_mode & 0o777)
