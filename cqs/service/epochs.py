"""The epochs of shards, as this node knows them; what they are for is told in `cqs.service.fenced`."""

from __future__ import annotations

from cqs.cache.interface import Shard

UNKNOWN = 0
"""No shard has this epoch."""
_SHARDS_MAX = 100_000


class Epochs:
    """What this node last heard of each shard's epoch. Belongs to one event loop."""

    def __init__(self) -> None:
        self._by_shard: dict[Shard, int] = {}

    def of(self, shard: Shard) -> int:
        """To be asked before the store is."""
        return self._by_shard.get(shard, UNKNOWN)

    def note(self, shard: Shard, epoch: int) -> None:
        if len(self._by_shard) >= _SHARDS_MAX:
            self._by_shard.clear()
        self._by_shard[shard] = epoch
