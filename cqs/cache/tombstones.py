"""Recently removed addresses, so that a message read or sent before its removal can't come back.

The whole cache has two generations, each a set per shard. A new generation starts every TOMBSTONE_MS, so a tombstone
lives between one and two times that long; an old generation is freed all at once, idle shards included. Under a flood
of removals generations turn over sooner, so that at most 2 * TOMBSTONES_MAX are kept (some 90 bytes each). A shard that
is being filled keeps all of its own tombstones, because the fill depends on them; they move here when the fill is done.
"""

from __future__ import annotations

from collections.abc import Iterable, Set

from cqs.cache.interface import TOMBSTONE_MS, Shard

TOMBSTONES_MAX = 100_000
_NONE: frozenset[int] = frozenset()


class Tombstones:
    """Removed addresses of all shards of a cache."""

    __slots__ = ("_count", "_earlier", "_now", "_turn_ms")

    def __init__(self, now_ms: int) -> None:
        self._now: dict[Shard, set[int]] = {}
        self._earlier: dict[Shard, set[int]] = {}
        self._count = 0
        self._turn_ms = now_ms + TOMBSTONE_MS

    def of(self, shard: Shard, now_ms: int) -> tuple[Set[int], Set[int]]:
        """The two sets that may contain an address of this shard. Not to be kept."""
        if now_ms >= self._turn_ms:
            self._turn(now_ms)
        return self._now.get(shard, _NONE), self._earlier.get(shard, _NONE)

    def add(self, shard: Shard, addresses: Iterable[int], now_ms: int) -> None:
        if now_ms >= self._turn_ms or self._count >= TOMBSTONES_MAX:
            self._turn(now_ms)
        removed = self._now.get(shard)
        if removed is None:
            removed = self._now[shard] = set()
        before = len(removed)
        removed.update(addresses)
        self._count += len(removed) - before

    def forget(self, shard: Shard) -> None:
        gone = self._now.pop(shard, None)
        self._count -= len(gone or ())
        self._earlier.pop(shard, None)

    def _turn(self, now_ms: int) -> None:
        is_long_past = now_ms >= self._turn_ms + TOMBSTONE_MS
        self._earlier = {} if is_long_past else self._now
        self._now = {}
        self._count = 0
        self._turn_ms = now_ms + TOMBSTONE_MS
