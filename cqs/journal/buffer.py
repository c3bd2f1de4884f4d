"""What the event loop has told and the writer thread has not yet written down: bounded, without a lock.

One thread appends, one takes out. Each total has one thread that changes it, so that their differences are right, or
late, but never wrong for good.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import msgspec

from cqs.cache.interface import Received
from cqs.events import EventName
from cqs.message import Message
from cqs.queue import Queue

_OVERHEAD_BYTES = 500


class Heard(msgspec.Struct, frozen=True, gc=False):
    """One call of the witness. `items`: messages, addresses or receives, as the event has them."""

    event: EventName
    at_ms: int
    queue: Queue
    items: Sequence[Message] | Sequence[int] | Sequence[Received] | Sequence[tuple[int, Message]] = ()
    receiver_id: str = ""
    number: int = 0
    """hidden: until when; received_nothing, revealed: how often."""
    target: Queue | None = None

    @property
    def lines(self) -> int:
        return len(self.items) or 1


class Buffer:
    """Holds at most about `bytes_max`, bodies included."""

    def __init__(self, bytes_max: int) -> None:
        self._bytes_max = bytes_max
        self._heard: deque[tuple[Heard, int]] = deque()
        self._bytes_in = self._bytes_out = 0
        self._dropped = self._dropped_taken = 0

    def put(self, heard: Heard, body_bytes: int = 0) -> None:
        """From the event loop: never waits; what does not fit is counted as dropped."""
        lines = len(heard.items) or 1
        size = body_bytes + _OVERHEAD_BYTES * lines
        if self._bytes_in - self._bytes_out + size > self._bytes_max:
            self._dropped += lines
            return
        self._bytes_in += size
        self._heard.append((heard, size))

    def take(self, count_max: int) -> list[Heard]:
        """From the writer thread: up to `count_max` calls, oldest first."""
        taken: list[Heard] = []
        while self._heard and len(taken) < count_max:
            heard, size = self._heard.popleft()
            self._bytes_out += size
            taken.append(heard)
        return taken

    def take_dropped(self) -> int:
        """From the writer thread: lines dropped since the last time."""
        dropped = self._dropped - self._dropped_taken
        self._dropped_taken += dropped
        return dropped
