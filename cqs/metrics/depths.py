"""How full the queues are, as last counted: used by scrapes, charts and the console, so that they need not ask the
cache for every queue. `cqs.service.statistics` counts every few seconds."""

from __future__ import annotations

from collections.abc import Collection

import msgspec

from cqs.cache.counts import Counts
from cqs.queue import QueueName


class Depth(msgspec.Struct, frozen=True, kw_only=True):
    """The depth of one queue."""

    name: QueueName
    uid: int
    counts: Counts
    retention_ms: int
    is_dead_letter: bool

    @property
    def messages(self) -> int:
        """Ready, in flight and delayed messages together."""
        return self.counts.ready + self.counts.in_flight + self.counts.delayed


class Depths:
    """By uid, and in total. The cost of totals depends on the number of queues that hold messages; empty ones cost
    nothing."""

    def __init__(self) -> None:
        self._by_uid: dict[int, Depth] = {}
        self._held: dict[int, Depth] = {}
        """Queues that hold messages."""
        self.sampled_ms = 0
        """When the last pass over the queues ended; 0 = none has ended yet."""

    def __len__(self) -> int:
        return len(self._by_uid)

    def get(self, uid: int) -> Depth | None:
        return self._by_uid.get(uid)

    def put(self, depth: Depth) -> None:
        self._by_uid[depth.uid] = depth
        if depth.messages:
            self._held[depth.uid] = depth
        else:
            self._held.pop(depth.uid, None)

    def held(self) -> list[Depth]:
        """Queues that hold messages, in no order."""
        return list(self._held.values())

    def keep_only(self, uids: Collection[int]) -> None:
        """Forgets deleted queues."""
        for uid in [uid for uid in self._by_uid if uid not in uids]:
            self.forget(uid)

    def forget(self, uid: int) -> None:
        self._by_uid.pop(uid, None)
        self._held.pop(uid, None)

    def totals(self, without: Collection[int] = ()) -> Counts:
        """Totals of all queues except those with these uids."""
        counted = [depth.counts for depth in self.held() if depth.uid not in without]
        return Counts(
            ready=sum(one.ready for one in counted),
            in_flight=sum(one.in_flight for one in counted),
            delayed=sum(one.delayed for one in counted),
            oldest_ms=min((one.oldest_ms for one in counted if one.oldest_ms is not None), default=None),
            groups_in_flight=sum(one.groups_in_flight for one in counted),
            noisy_groups=sum(one.noisy_groups for one in counted),
        )


def age_s(oldest_ms: int | None, now_ms: int) -> float:
    """Age of a message sent at that time; 0 when there is none."""
    return 0.0 if oldest_ms is None else max(0, now_ms - oldest_ms) / 1_000
