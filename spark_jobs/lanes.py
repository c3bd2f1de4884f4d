"""Distributes work over several threads, so that a slow piece does not hold up the pieces after it, except those whose
order must be kept.

    work ──► lanes, each takes the next piece       while a lane works on a key, further pieces of that
                                                    key queue up for that lane, in their order
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Hashable, Iterator
from queue import Queue
from typing import Generic, TypeVar

T = TypeVar("T")
WAITING_MAX = 1_000
"""Maximum number of queued pieces per key; when it is reached, taking work pauses until one of them has been
processed."""


class Turns(Generic[T]):
    """Distributes pieces from `work` to any number of threads. `key_of` returns the key whose order is kept, None for a
    piece without one."""

    def __init__(self, work: Queue[T | None], key_of: Callable[[T], Hashable | None]) -> None:
        self._work = work
        self._key_of = key_of
        self._taking = threading.Lock()
        self._waiting: dict[Hashable, deque[T]] = {}
        self._changed = threading.Condition()

    def pieces(self) -> Iterator[T]:
        """The pieces for one thread, one after the other, until it finds a None. A piece is done when the thread asks
        for the next."""
        while True:
            with self._taking:
                piece = self._work.get()
                if piece is None:
                    return
                key = self._key_of(piece)
                is_its_turn = key is None or self._begin(key, piece)
            if is_its_turn:
                yield piece
                if key is not None:
                    yield from self._following(key)

    def _begin(self, key: Hashable, piece: T) -> bool:
        """True if no lane has the key; otherwise the piece is queued for the lane that has it."""
        with self._changed:
            while (waiting := self._waiting.get(key)) is not None:
                if len(waiting) < WAITING_MAX:
                    waiting.append(piece)
                    return False
                self._changed.wait()
            self._waiting[key] = deque()
            return True

    def _following(self, key: Hashable) -> Iterator[T]:
        """The pieces that were queued; then the key is free."""
        while (piece := self._next(key)) is not None:
            yield piece

    def _next(self, key: Hashable) -> T | None:
        with self._changed:
            self._changed.notify_all()
            waiting = self._waiting[key]
            if waiting:
                return waiting.popleft()
            del self._waiting[key]
            return None
