"""What the event loop has told and the recorder has not been given: bounded, packed by the pack.

put(told) put(told) … ──► pack │ pack │ … ──► frame │ frame │ frame ──► take()
at most PACK_LINES         at most LINES_MAX    at most about bytes_max; what has no room is counted, and the next
as they came               as bytes             frame says how much

Rows are made of a pack's worth at once: one after the other, that takes less than between two calls. Of
more, the bodies of messages that are long gone would crowd the caches.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import NamedTuple

import structlog

from cqs.journal.calls import Told, frame_of

PACK_LINES = 64
"""So many messages, at most, are kept in memory for the journal's sake."""
LINES_MAX = 1_000
"""Of a frame. A frame costs the event loop and the recorder a turn each."""
_log = structlog.get_logger("cqs.journal")


class Frame(NamedTuple):
    """Calls as bytes, and how many lines they become."""

    data: bytes
    lines: int


class Buffer:
    """Belongs to the event loop. `dropped` counts the lines that had no room or were lost later."""

    def __init__(self, bytes_max: int, packed: Callable[[Sequence[Told]], bytes]) -> None:
        """`packed` makes the pack of calls (`cqs.journal.calls`), and raises ValueError for what can't be told."""
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
        """Called when there is a whole frame."""

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
        """The oldest frame, a part of one if need be; None when nothing is to be told."""
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
        """So many were lost on their way: the journal is told with the next frame."""
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
