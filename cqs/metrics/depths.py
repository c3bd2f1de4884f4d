"""How full the queues are, as last counted: what scrapes, charts and the console show without asking the cache for
every queue. `cqs.service.statistics` counts, some seconds apart."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import msgspec

from cqs.cache.interface import Counts
from cqs.queue import QueueName


class Depth(msgspec.Struct, frozen=True, kw_only=True):
    """One queue's."""

    name: QueueName
    uid: int
    counts: Counts
    retention_ms: int
    is_dead_letter: bool

    @property
    def messages(self) -> int:
        """Ready, in flight and delayed together."""
        return self.counts.ready + self.counts.in_flight + self.counts.delayed


class Depths:
    """By uid, and in all."""

    def __init__(self) -> None:
        self._by_uid: dict[int, Depth] = {}
        self._ready = self._in_flight = self._delayed = 0

    def __len__(self) -> int:
        return len(self._by_uid)

    def __iter__(self) -> Iterator[Depth]:
        return iter(list(self._by_uid.values()))

    def get(self, uid: int) -> Depth | None:
        return self._by_uid.get(uid)

    def put(self, depth: Depth) -> None:
        self._subtract(self._by_uid.get(depth.uid))
        self._by_uid[depth.uid] = depth
        counts = depth.counts
        self._ready += counts.ready
        self._in_flight += counts.in_flight
        self._delayed += counts.delayed

    def keep_only(self, uids: Collection[int]) -> None:
        """Forgets queues that are gone."""
        for uid in [uid for uid in self._by_uid if uid not in uids]:
            self._subtract(self._by_uid.pop(uid))

    def totals(self) -> Counts:
        """Of all queues; the oldest message of any. Walks them all: a millisecond for 10,000 queues."""
        oldest = min((depth.counts.oldest_ms for depth in self if depth.counts.oldest_ms is not None), default=None)
        return Counts(ready=self._ready, in_flight=self._in_flight, delayed=self._delayed, oldest_ms=oldest)

    def _subtract(self, depth: Depth | None) -> None:
        if depth is not None:
            self._ready -= depth.counts.ready
            self._in_flight -= depth.counts.in_flight
            self._delayed -= depth.counts.delayed


def age_s(oldest_ms: int | None, now_ms: int) -> float:
    """Age of a message sent then; 0 when there is none."""
    return 0.0 if oldest_ms is None else max(0, now_ms - oldest_ms) / 1_000
