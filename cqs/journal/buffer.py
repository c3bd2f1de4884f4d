"""A bounded buffer for what the event loop has reported and the recorder has not been given yet.

put(told) put(told) … ──► pack │ pack │ … ──► frame │ frame │ frame ──► take()
at most PACK_LINES         at most LINES_MAX    at most about bytes_max; what does not fit is counted, and the next
as they came               as bytes             frame has the count

Rows are made for a whole pack at once: that is faster than making them one by one between calls. With larger packs, the
bodies of messages long gone would crowd the CPU caches.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import NamedTuple

import structlog

from cqs.journal.calls import Told, frame_of

PACK_LINES = 64
"""At most this many messages are kept in memory for the journal."""
LINES_MAX = 1_000
"""Maximum number of lines in a frame. Each frame costs the event loop and the recorder one iteration."""
_log = structlog.get_logger("cqs.journal")


class Frame(NamedTuple):
    """Calls as bytes, and how many lines they become."""

    data: bytes
    lines: int


class Buffer:
    """Belongs to the event loop. `dropped` counts the lines that did not fit or were lost later."""

    def __init__(self, bytes_max: int, packed: Callable[[Sequence[Told]], bytes]) -> None:
        """`packed` packs calls (`cqs.journal.calls`), and raises ValueError for values that can't be packed."""
        self._bytes_max = bytes_max
        self._packed = packed
        self._told: list[Told] = []
        self._told_lines = 0
        self._packs: list[bytes] = []
        self._lines = 0
        self._frames: deque[Frame] = deque()
        self._bytes = 0
        self._untold = 0
        self.dropped = 0
        self.is_ready: Callable[[], None] = lambda: None
        """Called when a frame is full."""

    def put(self, told: Told) -> None:
        """Never waits and never raises."""
        self._told.append(told)
        self._told_lines += len(told[4])
        if self._told_lines >= PACK_LINES:
            self._pack()
            if self._lines >= LINES_MAX:
                self._frame()
                self.is_ready()

    def take(self) -> Frame | None:
        """The oldest frame, possibly a partial one; None when there is nothing to report."""
        if not self._frames:
            if self._told:
                self._pack()
            if self._packs or self._untold:
                self._frame()
        if not self._frames:
            return None
        frame = self._frames.popleft()
        self._bytes -= len(frame.data)
        return frame

    def miss(self, lines: int) -> None:
        """Counts lines lost in transit; the next frame reports them to the journal."""
        self._untold += lines
        self.dropped += lines

    def _pack(self) -> None:
        told, self._told = self._told, []
        self._lines += self._told_lines
        self._told_lines = 0
        try:
            self._packs.append(self._packed(told))
        except ValueError:
            for one in told:
                self._pack_alone(one)

    def _pack_alone(self, told: Told) -> None:
        try:
            self._packs.append(self._packed([told]))
        except ValueError as error:
            lines = len(told[4])
            _log.error("journal_call_unfit", call=told[0], reason=str(error))
            self._lines -= lines
            self.miss(lines)

    def _frame(self) -> None:
        data = frame_of(self._untold, self._packs)
        if self._bytes + len(data) > self._bytes_max:
            self.miss(self._lines)
        else:
            self._untold = 0
            self._frames.append(Frame(data, self._lines))
            self._bytes += len(data)
        self._packs, self._lines = [], 0
