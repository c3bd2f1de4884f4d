"""The epochs of shards, as this node knows them; what they are for is told in `cqs.service.fenced`."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

from cqs.cache.interface import TOMBSTONE_MS, Shard

UNKNOWN = 0
"""No shard has this epoch."""
LATE_S = TOMBSTONE_MS / 2_000
"""What was learnt longer ago says nothing any more: a shard remembers for TOMBSTONE_MS what was removed from it."""
_SHARDS_MAX = 100_000


class Known(NamedTuple):
    """An epoch, and when it was known (s of a monotonic clock)."""

    epoch: int
    at_s: float


class Epochs:
    """What this node last heard of each shard's epoch. Belongs to one event loop."""

    def __init__(self, now_s: Callable[[], float] = time.monotonic) -> None:
        self._now_s = now_s
        self._by_shard: dict[Shard, int] = {}

    def of(self, shard: Shard) -> Known:
        """To be asked before the store is."""
        return Known(self._by_shard.get(shard, UNKNOWN), self._now_s())

    def in_time(self, known: Known) -> int:
        """The epoch, or UNKNOWN when that was too long ago: this process may have been stopped."""
        return known.epoch if self._now_s() - known.at_s < LATE_S else UNKNOWN

    def note(self, shard: Shard, epoch: int) -> Known:
        """What is known from now on."""
        if len(self._by_shard) >= _SHARDS_MAX:
            self._by_shard.clear()
        self._by_shard[shard] = epoch
        return self.of(shard)
