"""The shards' epochs, as this node knows them. `cqs.service.fenced` explains their purpose."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

from cqs.cache.interface import TOMBSTONE_MS, Shard

UNKNOWN = 0
"""No shard has this epoch."""
LATE_S = TOMBSTONE_MS / 2_000
"""An epoch learned longer ago proves nothing: a shard keeps tombstones of removed messages for TOMBSTONE_MS."""
_SHARDS_MAX = 100_000


class Known(NamedTuple):
    """An epoch, and when it was known (s of a monotonic clock)."""

    epoch: int
    at_s: float


class Epochs:
    """The last epoch of each shard that this node has seen. Belongs to one event loop."""

    def __init__(self, now_s: Callable[[], float] = time.monotonic) -> None:
        self._now_s = now_s
        self._by_shard: dict[Shard, int] = {}

    def of(self, shard: Shard) -> Known:
        """Read this before reading the store."""
        return Known(self._by_shard.get(shard, UNKNOWN), self._now_s())

    def in_time(self, known: Known) -> int:
        """The epoch, or UNKNOWN if it is too old: this process may have been suspended."""
        return known.epoch if self._now_s() - known.at_s < LATE_S else UNKNOWN

    def note(self, shard: Shard, epoch: int) -> Known:
        """Records the epoch; returns it with the time."""
        if len(self._by_shard) >= _SHARDS_MAX:
            self._by_shard.clear()
        self._by_shard[shard] = epoch
        return self.of(shard)
