"""Answers buffered because their clients do not read them: bounded in bytes and in time.

    written ─► the kernel took all of it: nothing is buffered
            └► pause_writing ─► enter ─► … ─► resume_writing ─► leave
                                         │
                  each sweep: READ_MIN less than before? it is being read
                              else, after stalled_s_max:                       aborted
                              else, while more than bytes_max are buffered:    aborted, the longest stalled first

A client that reads is never cut off, so a burst of large answers gets through; a client that has stopped reading holds
no memory that others need. At most one answer per connection is buffered: both lanes serve no further request until it
is read.
"""

from __future__ import annotations

from typing import Protocol

READ_MIN = 65_536
"""Bytes that a client must read between two sweeps to count as reading."""
STALLED_S_MIN = 1.0
"""Every client may stall for this long, however much is buffered."""


class Reader(Protocol):
    """A connection whose client has an answer to read."""

    def unread(self) -> int:
        """Bytes buffered here."""

    def cut_off(self) -> None:
        """Aborts the connection and frees the bytes."""


class Unread:
    """Belongs to one event loop. `held`: bytes at the last sweep; `count_cut_off`: connections aborted since the
    start."""

    def __init__(self, bytes_max: int, stalled_s_max: float) -> None:
        self._bytes_max = bytes_max
        self._stalled_s_max = stalled_s_max
        self._left: dict[Reader, tuple[int, float]] = {}
        self.held = 0
        self.count_cut_off = 0

    def enter(self, reader: Reader, now_s: float) -> None:
        self._left[reader] = (reader.unread(), now_s)

    def leave(self, reader: Reader) -> None:
        """Idempotent."""
        self._left.pop(reader, None)

    def sweep(self, now_s: float) -> None:
        """Checks all buffered answers; called about every second."""
        self.held = 0
        for reader, (size, _) in self._left.items():
            left = reader.unread()
            if left <= size - READ_MIN:
                self._left[reader] = (left, now_s)
            self.held += left
        for reader, (_, since_s) in sorted(self._left.items(), key=lambda one: one[1][1]):
            stalled_s = now_s - since_s
            if stalled_s > self._stalled_s_max or (self.held > self._bytes_max and stalled_s >= STALLED_S_MIN):
                self.held -= reader.unread()
                self._end(reader)

    def cut_off(self) -> None:
        """Aborts all connections that have a buffered answer."""
        for reader in list(self._left):
            self._end(reader)

    def _end(self, reader: Reader) -> None:
        self.count_cut_off += 1
        self.leave(reader)
        reader.cut_off()
