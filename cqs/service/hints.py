"""Consistency hints (`cqs.cluster.hint`) as this node knows them: what a queue asks for, the takes from the store that
are under way, and what their collisions made of `auto`."""

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
    """By shard. Belongs to one event loop. Forgets idle shards, oldest first, beyond SHARDS_MAX."""

    def __init__(self) -> None:
        self._takes: dict[Shard, _Takes] = {}

    @contextmanager
    def taking(self, shard: Shard, count_max: int) -> Iterator[None]:
        """A take of up to `count_max` messages is under way."""
        takes = self._takes.setdefault(shard, _Takes())
        takes.wanted += count_max
        try:
            yield
        finally:
            takes.wanted -= count_max
            if len(self._takes) > SHARDS_MAX:
                self._forget_idle()

    def wanted(self, shard: Shard) -> int:
        """Messages that the takes under way want together."""
        takes = self._takes.get(shard)
        return 0 if takes is None else takes.wanted

    def width(self, shard: Shard, wish: int, others: int, now_ms: int) -> int:
        """The K of a take that begins now and has told so. `wish` is the tag's, `others` counts the other nodes that
        serve; each is taken to be as busy as this one."""
        if wish != hint.AUTO:
            return wish
        takes = self._takes.get(shard, _Takes())
        return hint.width(takes.spread, others * takes.wanted, now_ms)

    def collided(self, shard: Shard, others: int, now_ms: int) -> None:
        """A take that is under way lost a message to another node."""
        takes = self._takes.get(shard)
        if takes is not None:
            takes.spread = hint.collided(takes.spread, others * takes.wanted, now_ms)

    def _forget_idle(self) -> None:
        for shard in [shard for shard, takes in self._takes.items() if not takes.wanted]:
            if len(self._takes) <= SHARDS_MAX:
                return
            del self._takes[shard]


def wish_of(tags: Mapping[str, str]) -> int | None:
    """K, AUTO, or None: the queue asks for nothing, or for something that is no hint (tagged in strict mode)."""
    value = tags.get(hint.TAG)
    return None if value is None else hint.parse(value)
