"""What the event loop has told and the recorder has not been given: bounded, packed as it comes.

put(call) put(call) … ──► frame │ frame │ frame ──► take()
at most LINES_MAX lines   at most about bytes_max; what has no room is counted, and the next frame says how much

"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import NamedTuple

import structlog

from cqs.journal.calls import Call, pack, pack_call

LINES_MAX = 500
"""Of a frame."""
_log = structlog.get_logger("cqs.journal")


class Frame(NamedTuple):
    """Calls as bytes, and how many lines they become."""

    data: bytes
    lines: int


class Buffer:
    """Belongs to the event loop. `dropped` counts the lines that had no room or were lost later."""

    def __init__(self, bytes_max: int) -> None:
        self._bytes_max = bytes_max
        self._calls: list[bytes] = []
        self._lines = 0
        self._frames: deque[Frame] = deque()
        self._bytes = 0
        self._untold = 0
        self.dropped = 0
        self.is_ready: Callable[[], None] = lambda: None
        """Called when there is a whole frame."""

    def put(self, call: Call) -> None:
        """Never waits and never raises. Packs it at once, while it is at hand in the processor's caches."""
        try:
            self._calls.append(pack_call(call))
        except ValueError as error:
            _log.error("journal_call_unfit", call=call[0], reason=str(error))
            self.miss(len(call[4]))
            return
        self._lines += len(call[4])
        if self._lines >= LINES_MAX:
            self._pack()
            self.is_ready()

    def take(self) -> Frame | None:
        """The oldest frame, a part of one if need be; None when nothing is to be told."""
        if not self._frames and (self._calls or self._untold):
            self._pack()
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
        data = pack(self._untold, self._calls)
        if self._bytes + len(data) > self._bytes_max:
            self.miss(self._lines)
        else:
            self._untold = 0
            self._frames.append(Frame(data, self._lines))
            self._bytes += len(data)
        self._calls, self._lines = [], 0
