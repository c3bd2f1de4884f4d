"""The dirty marks that this node knows of; `cqs.service.marking` makes, reads and ends them."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from cqs.cache.interface import Shard
from cqs.store.coordination import DirtyMark


@dataclass(slots=True)
class Marks:
    """Belongs to one event loop."""

    own: dict[Shard, DirtyMark] = field(default_factory=dict)
    """Of this life of this node; durable."""
    foreign: dict[tuple[int, int], list[DirtyMark]] = field(default_factory=dict)
    """By storage id and shard: those of other nodes, and of this one's former lives, as of the last beat."""
    strays: list[DirtyMark] = field(default_factory=list)
    """Of this life as of the last look, though it does not know of them: their writing, or their removal, had no
    answer."""
    read_s: float = float("-inf")
    """When the last look at all marks began, by this node's monotonic clock."""
    known_s: dict[Shard, float] = field(default_factory=dict)
    """From when on every node knows of this node's mark, or believes no cache at all."""
    used_s: dict[Shard, float] = field(default_factory=dict)
    """When this node last served from the store because the cache was out of reach."""
    writing: asyncio.Lock = field(default_factory=asyncio.Lock)
    looking: asyncio.Lock = field(default_factory=asyncio.Lock)

    def is_on(self, shard: Shard) -> bool:
        """Whether what the cache says of the shard has to be checked with the store."""
        return shard in self.own or (shard.storage_id, shard.number) in self.foreign

    def covers(self, shard: Shard, low: int, high: int) -> bool:
        mark = self.own.get(shard)
        return mark is not None and mark.low_address <= low and high <= mark.high_address
