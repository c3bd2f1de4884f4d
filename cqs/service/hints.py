"""Consistency hints (`cqs.cluster.hint`) on this node: what each queue asks for, the takes from the store in progress,
and the width that `auto` has reached through their collisions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from cqs.cache.interface import Shard
from cqs.cluster import hint
from cqs.cluster.hint import Spread

SHARDS_MAX = 1_000


@dataclass(slots=True)
class _Takes:
    wanted: int = 0
    spread: Spread = field(default_factory=Spread)


class Hints:
    """By shard. Belongs to one event loop. Beyond SHARDS_MAX it forgets idle shards, oldest first."""

    def __init__(self) -> None:
        self._takes: dict[Shard, _Takes] = {}

    @contextmanager
    def taking(self, shard: Shard, count_max: int) -> Iterator[None]:
        """Registers a take of up to `count_max` messages while it is in progress."""
        takes = self._takes.setdefault(shard, _Takes())
        takes.wanted += count_max
        try:
            yield
        finally:
            takes.wanted -= count_max
            if len(self._takes) > SHARDS_MAX:
                self._forget_idle()

    def wanted(self, shard: Shard) -> int:
        """How many messages the takes in progress want together."""
        takes = self._takes.get(shard)
        return 0 if takes is None else takes.wanted

    def width(self, shard: Shard, wish: int, others: int, now_ms: int) -> int:
        """K for a take that has just been registered. `wish` is the tag's value, `others` the number of other serving
        nodes; each is assumed to be as busy as this one."""
        if wish != hint.AUTO:
            return wish
        takes = self._takes.get(shard, _Takes())
        return hint.width(takes.spread, others * takes.wanted, now_ms)

    def collided(self, shard: Shard, others: int, now_ms: int) -> None:
        """A take in progress lost a message to another node."""
        takes = self._takes.get(shard)
        if takes is not None:
            takes.spread = hint.collided(takes.spread, others * takes.wanted, now_ms)

    def _forget_idle(self) -> None:
        for shard in [shard for shard, takes in self._takes.items() if not takes.wanted]:
            if len(self._takes) <= SHARDS_MAX:
                return
            del self._takes[shard]


def wish_of(tags: Mapping[str, str]) -> int | None:
    """K, AUTO, or None if the queue has no hint or an invalid one (tagged in strict mode)."""
    value = tags.get(hint.TAG)
    return None if value is None else hint.parse(value)
