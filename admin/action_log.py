"""The log of changes: who changed what in the console, when, from where, and with which result. Durable, searchable,
exportable.

A file of JSON lines in the data folder rather than a table of the store, so that it can be read when the store can't,
be shipped by any log collector, and be kept apart from what it records. A line is written and synced before the
response is sent. The file is rotated at FILE_BYTES_MAX; FILES_MAX of them are kept, so that disk usage is bounded:

    actions.jsonl        the current file
    actions-1.jsonl      the previous one … actions-7.jsonl the oldest

Each node of a cluster keeps its own, which its workers share. Without a data folder, the last LINES_MAX lines are kept
in memory.
"""

from __future__ import annotations

import asyncio
import errno
import os
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec
import structlog

from cqs.file_lock import held

FILE_BYTES_MAX = 8_000_000
FILES_MAX = 8
LINES_MAX = 2_000
TEXT_MAX = 4_000
SCAN_MAX = 200_000

_log = structlog.get_logger("cqs.console")


class Line(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One change, or an attempted one."""

    at_ms: int
    who: str
    role: str = ""
    account: str = ""
    """The account of the user who did it."""
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

    def is_of(self, account: str) -> bool:
        """Whether it was done by a user of the account, or to one of its queues."""
        is_queue = self.target.startswith((f"{account}/", "arn:"))
        return self.account == account or (is_queue and account in self.target.split("/")[0].split(":"))


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """What to search for; "" and 0 = anything."""

    account: str = ""
    """Only what concerns this account."""

    text: str = ""
    who: str = ""
    action: str = ""
    is_failed_only: bool = False
    skip: int = 0
    """How many matching lines to skip because they were already shown; this is how a listing continues. Not by time,
    because lines may share a time and clocks may go back; lines written in the meantime make some lines appear twice,
    but none is missed."""

    def takes(self, line: Line, words: list[str]) -> bool:
        return (
            (not self.who or line.who == self.who)
            and (not self.action or line.action == self.action)
            and (not self.is_failed_only or bool(line.error))
            and (not self.account or line.is_of(self.account))
            and line.matches(words)
        )


class ActionLog:
    """Belongs to one event loop; files are accessed in threads, one access at a time."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self._recent: deque[Line] = deque(maxlen=LINES_MAX)
        self._turn = asyncio.Lock()

    @property
    def where(self) -> str:
        """The folder, "" for memory."""
        return str(self._folder or "")

    async def add(self, *lines: Line) -> None:
        """Durable when it returns. Never raises: a full disk must not keep an administrator from freeing space."""
        kept = [_cut(line) for line in lines]
        for line in kept:
            self._recent.appendleft(line)
            _log.info("console_action", **msgspec.to_builtins(line))
        if self._folder is None:
            return
        async with self._turn:
            try:
                await asyncio.to_thread(_append, self._folder, [msgspec.json.encode(line) + b"\n" for line in kept])
            except OSError as error:
                _log.error("console_action_not_written", reason=str(error))

    async def find(self, question: Question, limit: int) -> tuple[list[Line], bool]:
        """The newest matching lines, newest first, and whether there are more. Scans at most SCAN_MAX lines."""
        if self._folder is None:
            return _chosen(iter(self._recent), question, limit)
        async with self._turn:
            return await asyncio.to_thread(_search, self._folder, question, limit)


def _cut(line: Line) -> Line:
    texts = {name: getattr(line, name) for name in ("target", "detail", "error")}
    long = {name: text[: TEXT_MAX - 1] + "…" for name, text in texts.items() if len(text) > TEXT_MAX}
    return msgspec.structs.replace(line, **long)


def _append(folder: Path, lines: Sequence[bytes]) -> None:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with held(folder):
        while lines:
            lines = lines[_append_some(folder, lines) :]
            if lines:
                _turn(folder)


def _append_some(folder: Path, lines: Sequence[bytes]) -> int:
    """Appends as many lines as the current file takes; returns how many."""
    descriptor = os.open(_file(folder, 0), os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    try:
        size = os.fstat(descriptor).st_size
        is_torn = size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"
        taken, room = 0, FILE_BYTES_MAX - size
        while taken < len(lines) and (len(lines[taken]) <= room or (size == 0 and taken == 0)):
            room -= len(lines[taken])
            taken += 1
        if taken:
            _write(descriptor, (b"\n" if is_torn else b"") + b"".join(lines[:taken]))
        return taken
    finally:
        os.close(descriptor)


def _turn(folder: Path) -> None:
    for number in range(FILES_MAX - 1, 0, -1):
        older = _file(folder, number - 1)
        if older.exists():
            older.replace(_file(folder, number))


def _write(descriptor: int, content: bytes) -> None:
    """Durable when it returns. Also raises OSError when only a part fitted; the next line is then separated from it."""
    if os.write(descriptor, content) < len(content):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    os.fsync(descriptor)


def _file(folder: Path, number: int) -> Path:
    return folder / (f"actions-{number}.jsonl" if number else "actions.jsonl")


def _search(folder: Path, question: Question, limit: int) -> tuple[list[Line], bool]:
    with suppress(OSError), held(folder):
        return _chosen(_newest_first(folder), question, limit)
    return [], False


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
    to_skip = question.skip
    for seen, line in enumerate(lines):
        if seen >= SCAN_MAX:
            return found, True
        if question.takes(line, words):
            if to_skip:
                to_skip -= 1
                continue
            if len(found) == limit:
                return found, True
            found.append(line)
    return found, False
