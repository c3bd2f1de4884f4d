"""Who changed what in the console, when, from where, and with which result: durable, searchable, exportable.

A file of JSON lines in the data folder, and not a table of the store, so that it can be read when the store can't, be
shipped by any log collector, and be kept apart from what it accuses. A line is written and synced before the answer
goes out. The file turns at FILE_BYTES_MAX; FILES_MAX of them are kept, so that the disk is bounded:

    actions.jsonl        the present one
    actions-1.jsonl      the one before … actions-7.jsonl the oldest

Each node of a cluster keeps its own. Without a data folder the last LINES_MAX lines are kept in memory.
"""

from __future__ import annotations

import asyncio
import os
from collections import deque
from collections.abc import Iterator
from pathlib import Path

import msgspec
import structlog

FILE_BYTES_MAX = 8_000_000
FILES_MAX = 8
LINES_MAX = 2_000
TEXT_MAX = 500
SCAN_MAX = 200_000

_log = structlog.get_logger("cqs.console")


class Line(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One change, or the attempt of one."""

    at_ms: int
    who: str
    role: str = ""
    account: str = ""
    """Of who did it."""
    address: str = ""
    action: str
    target: str = ""
    """What was changed: a queue's ARN, a user's name …"""
    detail: str = ""
    error: str = ""
    """"" = it was done."""

    def matches(self, words: list[str]) -> bool:
        text = (
            f"{self.who} {self.role} {self.address} {self.action} {self.target} {self.detail} {self.error}".casefold()
        )
        return all(word in text for word in words)


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """What to look for; "" and 0 = anything."""

    text: str = ""
    who: str = ""
    action: str = ""
    is_failed_only: bool = False
    before_ms: int = 0
    """Older than this: how a listing goes on."""

    def takes(self, line: Line, words: list[str]) -> bool:
        return (
            (not self.who or line.who == self.who)
            and (not self.action or line.action == self.action)
            and (not self.is_failed_only or bool(line.error))
            and (not self.before_ms or line.at_ms < self.before_ms)
            and line.matches(words)
        )


class ActionLog:
    """Belongs to one event loop; files are touched in threads, one at a time."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self._recent: deque[Line] = deque(maxlen=LINES_MAX)
        self._turn = asyncio.Lock()

    @property
    def where(self) -> str:
        """The folder, "" for memory."""
        return str(self._folder or "")

    async def add(self, line: Line) -> None:
        """Durable when it returns. Never raises: a full disk must not keep an administrator from making room."""
        kept = msgspec.structs.replace(
            line, target=line.target[:TEXT_MAX], detail=line.detail[:TEXT_MAX], error=line.error[:TEXT_MAX]
        )
        self._recent.appendleft(kept)
        _log.info("console_action", **msgspec.to_builtins(kept))
        if self._folder is None:
            return
        async with self._turn:
            try:
                await asyncio.to_thread(_append, self._folder, msgspec.json.encode(kept) + b"\n")
            except OSError as error:
                _log.error("console_action_not_written", reason=str(error))

    async def find(self, question: Question, limit: int) -> tuple[list[Line], bool]:
        """The newest lines that fit, newest first, and whether there are more. At most SCAN_MAX lines are looked at."""
        if self._folder is None:
            return _chosen(iter(self._recent), question, limit)
        async with self._turn:
            return await asyncio.to_thread(_search, self._folder, question, limit)


def _append(folder: Path, line: bytes) -> None:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = folder / "actions.jsonl"
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    try:
        is_full = os.fstat(descriptor).st_size + len(line) > FILE_BYTES_MAX
        if not is_full:
            os.write(descriptor, line)
            os.fsync(descriptor)
            return
    finally:
        os.close(descriptor)
    for number in range(FILES_MAX - 1, 0, -1):
        older = _file(folder, number - 1)
        if older.exists():
            older.replace(_file(folder, number))
    _append(folder, line)


def _file(folder: Path, number: int) -> Path:
    return folder / (f"actions-{number}.jsonl" if number else "actions.jsonl")


def _search(folder: Path, question: Question, limit: int) -> tuple[list[Line], bool]:
    return _chosen(_newest_first(folder), question, limit)


def _newest_first(folder: Path) -> Iterator[Line]:
    for number in range(FILES_MAX):
        try:
            lines = _file(folder, number).read_bytes().splitlines()
        except OSError:
            continue
        for raw in reversed(lines):
            try:
                yield msgspec.json.decode(raw, type=Line)
            except (msgspec.DecodeError, UnicodeDecodeError):
                continue


def _chosen(lines: Iterator[Line], question: Question, limit: int) -> tuple[list[Line], bool]:
    words = question.text.casefold().split()
    found: list[Line] = []
    for seen, line in enumerate(lines):
        if seen >= SCAN_MAX:
            return found, True
        if question.takes(line, words):
            if len(found) == limit:
                return found, True
            found.append(line)
    return found, False
