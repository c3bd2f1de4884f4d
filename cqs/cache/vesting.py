"""When each shard has work next: one heap over all shards of a cache, so that idle shards cost nothing.

Each shard is in it once, under `vesting_ms`, which is never later than its next work. Earlier work moves the shard
ahead; cancelled work is noticed only when its time comes. Taking a shard moves it VESTING_LEASE_MS ahead, until
`reveal` reports when it really has work again.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from itertools import count
from typing import Protocol

from cqs.cache.interface import VESTING_LEASE_MS, Shard

NEVER_MS = 1 << 62
_SLACK = 1_024


class Vesting(Protocol):
    """A shard as this index sees it."""

    shard: Shard
    vesting_ms: int
    """The shard's time in the index; NEVER_MS = not in it. Only the index writes it."""

    def next_ms(self) -> int | None:
        """When the shard has work next; None = never, as far as is known."""


class VestingIndex:
    """Shards by the time of their next work."""

    __slots__ = ("_heap", "_heap_max", "_tie")

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, Vesting]] = []
        self._heap_max = _SLACK
        self._tie = count()

    def expect(self, shard: Vesting, at_ms: int) -> None:
        """The shard has work at this time; an earlier time already recorded stays."""
        if at_ms < shard.vesting_ms:
            self.settle(shard, at_ms)

    def settle(self, shard: Vesting, at_ms: int | None) -> None:
        """The shard's next work is at exactly this time; None = never."""
        shard.vesting_ms = NEVER_MS if at_ms is None else at_ms
        if at_ms is not None:
            heappush(self._heap, (at_ms, next(self._tie), shard))
            if len(self._heap) > self._heap_max:
                self._sweep()

    def take(self, now_ms: int, limit: int) -> list[Shard]:
        """Leases up to `limit` shards that have work now."""
        taken: list[Shard] = []
        while len(taken) < limit:
            shard = self._first()
            if shard is None or shard.vesting_ms > now_ms:
                break
            next_ms = shard.next_ms()
            if next_ms is not None and next_ms <= now_ms:
                taken.append(shard.shard)
                next_ms = now_ms + VESTING_LEASE_MS
            self.settle(shard, next_ms)
        return taken

    def next_ms(self) -> int | None:
        """When the first shard has work; None = never."""
        while (shard := self._first()) is not None:
            next_ms = shard.next_ms()
            if next_ms is not None and next_ms <= shard.vesting_ms:
                return shard.vesting_ms
            self.settle(shard, next_ms)
        return None

    def _first(self) -> Vesting | None:
        heap = self._heap
        while heap:
            at_ms, _, shard = heap[0]
            if shard.vesting_ms == at_ms:
                return shard
            heappop(heap)
        return None

    def _sweep(self) -> None:
        places = {id(shard): (at_ms, tie, shard) for at_ms, tie, shard in self._heap if shard.vesting_ms == at_ms}
        self._heap = list(places.values())
        heapify(self._heap)
        self._heap_max = 2 * len(self._heap) + _SLACK
