"""Finds a message's events in the journal's files: including those of other nodes that write to the same folder, and
those of deleted messages. Newest files first, within limits that the page states."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path

import msgspec

from cqs.errors import ServiceUnavailable
from cqs.events import Line
from cqs.journal.blocks import lines_of
from cqs.journal.files import JournalFile, files_of

EVENTS_MAX = 200
WAITING_MAX = 4
BYTES_MAX = 512_000_000
"""Bytes of text that are read: some seconds of one thread."""


class Found(msgspec.Struct, frozen=True):
    """Events, oldest first. `is_whole`: every file was read to its end."""

    lines: list[Line]
    files: int
    is_whole: bool


class Searches:
    """Runs one search at a time, with a short queue: a search uses a core for seconds, which it takes from the event
    loop's thread. Belongs to one event loop."""

    def __init__(self) -> None:
        self._turn = asyncio.Lock()
        self._asked = 0

    async def search(self, folder: Path, address: str, account: str) -> Found:
        """Like the function `search`, when its turn comes. Raises ServiceUnavailable when WAITING_MAX searches are
        already waiting."""
        if self._asked > WAITING_MAX:
            raise ServiceUnavailable("Other searches of the journal are in progress. Try again in a moment.")
        self._asked += 1
        try:
            async with self._turn:
                return await asyncio.to_thread(search, folder, address, account)
        finally:
            self._asked -= 1


class _Room:
    """How much may still be read."""

    def __init__(self) -> None:
        self.bytes_left = BYTES_MAX


def search(folder: Path, address: str, account: str) -> Found:
    """Events of the account that contain the address (in the form of a message ID); the journal covers all accounts.
    Blocks; call it in a thread. Unreadable files are skipped."""
    room = _Room()
    found: list[Line] = []
    try:
        files = files_of(folder)
    except OSError:
        files = []
    for seen, file in enumerate(reversed(files), 1):
        for line in _matching(file, address, account, room):
            found.append(line)
            if len(found) >= EVENTS_MAX:
                return Found(_in_order(found), seen, False)
        if room.bytes_left <= 0:
            return Found(_in_order(found), seen, False)
    return Found(_in_order(found), len(files), True)


def _matching(file: JournalFile, address: str, account: str, room: _Room) -> Iterator[Line]:
    needle = address.encode()
    try:
        with gzip.open(file.path) if file.is_finished else file.path.open("rb") as source:
            for raw in source:
                room.bytes_left -= len(raw)
                if room.bytes_left <= 0:
                    return
                if needle in raw:
                    with contextlib.suppress(msgspec.DecodeError):
                        lines = lines_of(raw)
                        yield from (one for one in lines if one.account == account and address in _named(one))
    except (OSError, EOFError, zlib.error):
        return


def _named(line: Line) -> tuple[str, ...]:
    return line.address, line.message_id, line.to_address


def _in_order(lines: list[Line]) -> list[Line]:
    return sorted(lines, key=lambda line: (line.at_ms, line.number))
