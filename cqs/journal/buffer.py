"""What the event loop has told and the writer thread has not yet written down: bounded, without a lock.

One thread appends, one takes out. Each total has one thread that changes it, so that their differences are right, or
late, but never wrong for good.
"""

from __future__ import annotations

from collections import deque

import msgspec

from cqs.events import EventName

_OVERHEAD_BYTES = 300
"""Of a call and of each line, beside the texts."""


class Told(msgspec.Struct, frozen=True, gc=False):
    """One call of the witness, as text that only lacks its numbers. `texts`: one a line."""

    event: EventName
    common: str
    texts: list[str]


class Buffer:
    """Holds at most about `bytes_max`."""

    def __init__(self, bytes_max: int) -> None:
        self._bytes_max = bytes_max
        self._told: deque[Told] = deque()
        self._bytes_in = self._bytes_out = 0
        self._dropped = self._dropped_taken = 0

    def put(self, told: Told) -> None:
        """From the event loop: never waits; what does not fit is counted as dropped."""
        size = _size_of(told)
        if self._bytes_in - self._bytes_out + size > self._bytes_max:
            self._dropped += len(told.texts)
            return
        self._bytes_in += size
        self._told.append(told)

    def take(self, count_max: int) -> list[Told]:
        """From the writer thread: up to `count_max` calls, oldest first."""
        taken: list[Told] = []
        while self._told and len(taken) < count_max:
            told = self._told.popleft()
            self._bytes_out += _size_of(told)
            taken.append(told)
        return taken

    def take_dropped(self) -> int:
        """From the writer thread: lines dropped since the last time."""
        dropped = self._dropped - self._dropped_taken
        self._dropped_taken += dropped
        return dropped


def _size_of(told: Told) -> int:
    texts = told.texts
    if len(texts) == 1:
        return _OVERHEAD_BYTES + len(texts[0])
    return _OVERHEAD_BYTES * len(texts) + sum(map(len, texts))
