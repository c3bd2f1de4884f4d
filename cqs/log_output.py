"""Where the log's lines go: a server never waits long for who reads its log.

A pipe holds 64 kB. Once a reader has stopped reading (a test that read only the first line, a collector that hangs, a
terminal after Ctrl-S), the next write would block, and the event loop, and SIGTERM, with it:

    server ──► pipe ──► reader         the pipe is full: wait WAIT_S for the reader, once, then drop and count lines
                                       the pipe takes a line again: write it, and tell how many are missing before it
"""

from __future__ import annotations

import contextlib
import os
import select
import stat
from typing import Protocol, TextIO

WAIT_S = 1.0


class Output(Protocol):
    def write(self, line: str) -> int:
        """Writes the line and returns how many were dropped before it, since the last one that was written. A line
        that is dropped returns 0. Raises OSError or ValueError if the output is closed."""


def of_stream(stream: TextIO, wait_s: float = WAIT_S) -> Output:
    """Writes to a file, which has no reader, as the stream does; also to a terminal that can't be opened anew."""
    try:
        number = stream.fileno()
        mode = os.fstat(number).st_mode
    except (OSError, ValueError):
        return _File(stream)
    is_asked = stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)
    if not is_asked and not os.isatty(number):
        return _File(stream)
    try:
        return _Read(os.open(f"/proc/self/fd/{number}", os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY), False, wait_s)
    except OSError:
        return _Read(os.dup(number), True, wait_s) if is_asked else _File(stream)


class _File:
    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, line: str) -> int:
        self._stream.write(line + "\n")
        self._stream.flush()
        return 0


class _Read:
    """A pipe, socket or terminal. Its descriptor may be shared with other processes, so it is not made non-blocking
    itself: it is opened anew, and where that is impossible (a socket, another user's pipe), asked before each write."""

    def __init__(self, number: int, asks: bool, wait_s: float) -> None:
        self._number = number
        self._asks = asks
        self._wait_s = wait_s
        self._dropped = 0
        self._is_cut = False
        self._room = select.poll()
        self._room.register(number, select.POLLOUT)

    def write(self, line: str) -> int:
        data = (("\n" if self._is_cut else "") + line + "\n").encode()
        done = 0
        may_wait = self._dropped == 0
        while done < len(data):
            try:
                done += self._write_some(data[done:])
                may_wait = self._dropped == 0
            except BlockingIOError:
                if may_wait and self._has_room(self._wait_s):
                    may_wait = False
                    continue
                self._is_cut = data[done - 1 : done] != b"\n" if done else self._is_cut
                self._dropped += 1
                return 0
        dropped, self._dropped, self._is_cut = self._dropped, 0, False
        return dropped

    def _write_some(self, data: bytes) -> int:
        if not self._asks:
            return os.write(self._number, data)
        if not self._has_room(0.0):
            raise BlockingIOError
        return os.write(self._number, data[: select.PIPE_BUF])

    def _has_room(self, wait_s: float) -> bool:
        with contextlib.suppress(InterruptedError):
            return bool(self._room.poll(wait_s * 1_000))
        return False
