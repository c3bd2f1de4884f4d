"""A home as this node last read it, and which shard of its queue that concerns."""

from __future__ import annotations

from dataclasses import dataclass

from cqs.cache.interface import Shard
from cqs.queue import GENERATION_BITS
from cqs.store.coordination import Home


@dataclass(slots=True)
class KnownHome:
    """`shard`: of the queue as it was last purged, as far as known."""

    shard: Shard
    home: Home | None
    checked_ms: int
    is_used: bool = True


def key_of(shard: Shard) -> tuple[int, int]:
    """The uid of the queue and the number of the shard: a queue keeps its home across purges."""
    return shard.storage_id >> GENERATION_BITS, shard.number


def newer(one: Shard, other: Shard) -> Shard:
    """Of two shards of a queue, the one since its last purge."""
    return max(one, other, key=lambda shard: shard.storage_id)
