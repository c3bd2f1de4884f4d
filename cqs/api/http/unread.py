"""Answers that lie here because their clients do not read them: bounded in bytes and in time.

    written ─► the kernel took all of it: nothing lies here
            └► pause_writing ─► enter ─► … ─► resume_writing ─► leave
                                         │
                  each sweep: READ_MIN less than before? it is being read
                              else, for stalled_s_max:                  cut off
                              else, while more than bytes_max lie here: cut off, who has not read for longest first

Who reads is never cut off, so that a burst of large answers gets through; who has stopped holds nothing that others
need. One answer at a time lies here of a connection: both lanes serve no next request meanwhile.
"""

from __future__ import annotations

from typing import Protocol

READ_MIN = 65_536
"""Bytes to read between two sweeps, by which a client counts as reading."""
STALLED_S_MIN = 1.0
"""So long everybody may take, however much lies here."""


class Reader(Protocol):
    """A connection whose answer its client has to read."""

    def unread(self) -> int:
        """Bytes that lie here."""

    def cut_off(self) -> None:
        """Ends the connection, and lets go of the bytes."""


class Unread:
    """Belongs to one event loop. `held`: bytes at the last sweep; `count_cut_off`: connections since the start."""

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
        """Looks at all that lies here; called about every second."""
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
        """Ends all for whom something lies here."""
        for reader in list(self._left):
            self._end(reader)

    def _end(self, reader: Reader) -> None:
        self.count_cut_off += 1
        self.leave(reader)
        reader.cut_off()
