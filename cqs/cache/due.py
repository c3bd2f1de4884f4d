"""When hidden messages become visible: a heap of integers, `visible_ms` in the bits above the address, with lazy
invalidation.

A number is never removed when it becomes outdated. It is valid only while its message is hidden until exactly that
time; invalid numbers are skipped when they reach the top, and swept when they outnumber the valid ones. An integer
needs no tuple, and nothing for the garbage collector to traverse.
"""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heapify, heappop, heappush

from cqs.cache.entry import Entry, State

_ADDRESS_BITS = 122
_ADDRESS_MASK = (1 << _ADDRESS_BITS) - 1
_SLACK = 1_024
_READY = State.READY


class DueIndex:
    """The in-flight and delayed messages among `entries` (the shard's own dict), by the time they become visible."""

    __slots__ = ("_entries", "_heap", "_heap_max")

    def __init__(self, entries: dict[int, Entry]) -> None:
        self._entries = entries
        self._heap: list[int] = []
        self._heap_max = _SLACK

    def push(self, entry: Entry) -> None:
        """Adds a message under its new `visible_ms`."""
        heappush(self._heap, entry.visible_ms << _ADDRESS_BITS | entry.address)
        if len(self._heap) > self._heap_max:
            self._sweep()

    def first(self) -> Entry | None:
        """The hidden message that is due first (ties: lowest address); None when nothing is hidden."""
        heap = self._heap
        while heap:
            entry = self._speaks_for(heap[0])
            if entry is not None:
                return entry
            heappop(heap)
        return None

    def hidden(self) -> Iterator[Entry]:
        """All hidden messages, each once, in no particular order. Cost: the size of the index."""
        self._sweep()
        for number in self._heap:
            entry = self._speaks_for(number)
            if entry is not None:
                yield entry

    def _speaks_for(self, number: int) -> Entry | None:
        entry = self._entries.get(number & _ADDRESS_MASK)
        if entry is None or entry.state is _READY or entry.visible_ms != number >> _ADDRESS_BITS:
            return None
        return entry

    def _sweep(self) -> None:
        self._heap = list({number for number in self._heap if self._speaks_for(number) is not None})
        heapify(self._heap)
        self._heap_max = 2 * len(self._heap) + _SLACK
