"""Work that several threads share, so that what is slow does not hold up what comes after it, but for what has to keep
its order.

    work ──► lanes, each takes the next piece       a key is being worked on: its next pieces wait for
                                                    whichever lane has it, in their order
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Hashable, Iterator
from queue import Queue
from typing import Generic, TypeVar

T = TypeVar("T")
WAITING_MAX = 1_000
"""Pieces of one key that wait; before more of them is taken, or of any other, one must be worked on."""


class Turns(Generic[T]):
    """Takes pieces from `work` for any number of threads. `key_of` what keeps its order, None for what need not."""

    def __init__(self, work: Queue[T | None], key_of: Callable[[T], Hashable | None]) -> None:
        self._work = work
        self._key_of = key_of
        self._taking = threading.Lock()
        self._waiting: dict[Hashable, deque[T]] = {}
        self._changed = threading.Condition()

    def pieces(self) -> Iterator[T]:
        """What one thread is to work on, one piece after the other, until it finds a None. The piece before is done
        when it asks for the next."""
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
        """Whether nobody has the key; else the piece waits for who has it."""
        with self._changed:
            while (waiting := self._waiting.get(key)) is not None:
                if len(waiting) < WAITING_MAX:
                    waiting.append(piece)
                    return False
                self._changed.wait()
            self._waiting[key] = deque()
            return True

    def _following(self, key: Hashable) -> Iterator[T]:
        """Those that waited; then the key is free."""
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
