"""The dirty marks that this node knows of; `cqs.service.marking` writes, reads and removes them."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from cqs.cache.interface import Shard
from cqs.store.coordination import DirtyMark


@dataclass(slots=True)
class Marks:
    """Belongs to one event loop."""

    own: dict[Shard, DirtyMark] = field(default_factory=dict)
    """Marks of this run of this node; durable."""
    foreign: dict[tuple[int, int], list[DirtyMark]] = field(default_factory=dict)
    """By storage id and shard: marks of other nodes and of this node's earlier runs, as of the last read."""
    strays: list[DirtyMark] = field(default_factory=list)
    """Marks of this run, as of the last read, that it does not know of: writing or removing them had no answer."""
    read_s: float = float("-inf")
    """When the last read of all marks began, by this node's monotonic clock."""
    beaten_s: float = float("-inf")
    """When the last beat that succeeded began. Without one, nodes that count this one as dead may serve its shards from
    other cache servers (`cqs.service.lists`)."""
    known_s: dict[Shard, float] = field(default_factory=dict)
    """The time from which every node knows of this node's mark, or trusts no cache at all."""
    used_s: dict[Shard, float] = field(default_factory=dict)
    """When this node last served the shard from the store because the cache was unreachable."""
    writing: asyncio.Lock = field(default_factory=asyncio.Lock)
    looking: asyncio.Lock = field(default_factory=asyncio.Lock)

    def is_on(self, shard: Shard) -> bool:
        """Whether messages taken from the shard's cache must be checked against the store."""
        return shard in self.own or (shard.storage_id, shard.number) in self.foreign

    def covers(self, shard: Shard, low: int, high: int) -> bool:
        mark = self.own.get(shard)
        return mark is not None and mark.low_address <= low and high <= mark.high_address
