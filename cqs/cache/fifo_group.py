"""One message group of a FIFO shard: its ready and its in-flight messages, both in sequence number order.

    sequence   1   2   3   4   5   6         of a group, only messages ready BEFORE its first one in flight may be
               r   r   F   r   d   r         handed out: here 1 and 2. Delayed messages (d) are not in the group yet.

The first slots of the list `_ready` may be used up: popping advances a mark instead of shifting the list, so a group of
100,000 messages costs no more than a group of one, and a group of one is small.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from operator import attrgetter

from cqs.cache.entry import Entry, State

_USED_UP_MIN = 32


place: Callable[[Entry], tuple[int, int]] = attrgetter("sequence", "address")
"""A message's position in its group."""


class Group:
    """Messages of one group. `is_waiting`: the group is in its shard's rotation."""

    __slots__ = ("_in_flight", "_mark", "_ready", "is_waiting", "name")

    def __init__(self, name: str | None) -> None:
        self.name = name
        self.is_waiting = False
        self._ready: list[Entry] = []
        self._mark = 0
        self._in_flight: list[Entry] = []

    @property
    def is_locked(self) -> bool:
        return bool(self._in_flight)

    @property
    def is_empty(self) -> bool:
        return self._mark == len(self._ready) and not self._in_flight

    def lock(self) -> Entry | None:
        """The first message in flight."""
        return self._in_flight[0] if self._in_flight else None

    def age(self) -> int:
        """Sequence number of the first ready message; 0 when there is none."""
        return self._ready[self._mark].sequence if self._mark < len(self._ready) else 0

    def first(self, lock: Entry | None) -> Entry | None:
        """The first ready message, if it precedes `lock`."""
        if self._mark == len(self._ready):
            return None
        entry = self._ready[self._mark]
        return entry if lock is None or place(entry) < place(lock) else None

    def add(self, entry: Entry) -> None:
        """Inserts a ready message at its position."""
        ready = self._ready
        if not ready or place(ready[-1]) < place(entry):
            ready.append(entry)
        elif self._mark and place(entry) < place(ready[self._mark]):
            self._mark -= 1
            ready[self._mark] = entry
        else:
            ready.insert(bisect_left(ready, place(entry), lo=self._mark, key=place), entry)

    def pop(self) -> None:
        """Removes the first ready message."""
        self._mark += 1
        if self._mark == len(self._ready) or (self._mark >= _USED_UP_MIN and self._mark * 4 >= len(self._ready)):
            del self._ready[: self._mark]
            self._mark = 0

    def discard(self, entry: Entry) -> None:
        """Removes a ready message at any position."""
        at = bisect_left(self._ready, place(entry), lo=self._mark, key=place)
        assert self._ready[at] is entry
        del self._ready[at]
        if self._mark == len(self._ready):
            self._ready.clear()
            self._mark = 0

    def start(self, entry: Entry) -> None:
        in_flight = self._in_flight
        if not in_flight or place(in_flight[-1]) < place(entry):
            in_flight.append(entry)
        else:
            in_flight.insert(bisect_left(in_flight, place(entry), key=place), entry)

    def finish(self, entry: Entry) -> None:
        del self._in_flight[bisect_left(self._in_flight, place(entry), key=place)]

    def add_unsorted(self, entry: Entry) -> None:
        """`add` during a fill; `sort` must follow before the ready messages are used."""
        self._ready.append(entry)

    def sort(self) -> None:
        """Sorts what `add_unsorted` added, dropping messages that have left since."""
        self._ready = sorted((entry for entry in self._ready if entry.state is State.READY), key=place)
        self._mark = 0
