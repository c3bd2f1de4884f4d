"""Which queues have series of their own, and where the others are counted.

    first event, or first seen with messages, or room for all ──► own place, if one is free ──► kept
                                                              └──► `_other`

Places are permanent. A deleted queue keeps its place and its counts: no counter falls or jumps, and a queue created
again under the same name continues them. Only when another queue wants a place and none is free, the place of a queue
that has been gone for GONE_KEPT_MS is reused; its series end there (they do not move to `_other`, where they would look
like a burst), and its counts stay in the node's totals. With name patterns, half of the places are reserved for queues
that match one.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Sequence
from fnmatch import fnmatchcase

from cqs.metrics.queue_stats import QueueStats
from cqs.queue import Queue, QueueName

PLACES = 500
GONE_KEPT_MS = 600_000
OTHER = "_other"


class QueueTable:
    """`QueueStats` by queue. Belongs to the event loop; a scrape's thread may read."""

    def __init__(self, places: int = PLACES, patterns: Sequence[str] = ()) -> None:
        self._places = places
        self._patterns = tuple(patterns)
        self._plain_max = places - places // 2 if patterns else places
        self._plain = 0
        self._by_name: dict[QueueName, QueueStats] = {}
        self.by_uid: dict[int, QueueStats] = {}
        """The fast path for every event; for a uid that is missing here, call `meet`."""
        self.other = QueueStats("", OTHER)
        self._retired = QueueStats("", "")
        self._now_ms = self._first_gone_ms = 0

    def __len__(self) -> int:
        return len(self._by_name)

    def __iter__(self) -> Iterator[QueueStats]:
        """The admitted queues."""
        return iter(list(self._by_name.values()))

    def get(self, name: QueueName) -> QueueStats | None:
        """The queue's own counts; None when it has none."""
        return self._by_name.get(name)

    def meet(self, queue: Queue) -> QueueStats:
        """The counters for the queue's events from now on."""
        stats = self.by_uid.get(queue.uid)
        if stats is None:
            stats = self.by_uid[queue.uid] = self._by_name.get(queue.key) or self._admit(queue) or self.other
            stats.gone_ms = 0
        return stats

    def has_room_for(self, count: int) -> bool:
        """Whether that many queues would fit if all of them had a place."""
        return count <= self._plain_max

    def forget_gone(self, uids: Container[int], is_living: Callable[[QueueName], bool], now_ms: int) -> None:
        """Periodic housekeeping, with the uids of all existing queues: notes which admitted ones are gone."""
        self._now_ms = now_ms
        for uid in [uid for uid in self.by_uid if uid not in uids]:
            del self.by_uid[uid]
        for name, stats in self._by_name.items():
            stats.gone_ms = 0 if is_living(name) else stats.gone_ms or now_ms
        self._first_gone_ms = min((stats.gone_ms for stats in self._by_name.values() if stats.gone_ms), default=now_ms)

    def total(self, field: str) -> int:
        """The total of all queues ever, including those that have left the table."""
        return int(sum(getattr(stats, field) for stats in (*self, self.other, self._retired)))

    def _admit(self, queue: Queue) -> QueueStats | None:
        is_wanted = any(fnmatchcase(queue.name, pattern) for pattern in self._patterns)
        if not is_wanted and self._plain >= self._plain_max and not self._retire(is_wanted=False):
            return None
        if len(self._by_name) >= self._places and not self._retire(is_wanted=is_wanted):
            return None
        stats = self._by_name[queue.key] = QueueStats(queue.account, queue.name)
        self._plain += not is_wanted
        return stats

    def _retire(self, *, is_wanted: bool) -> bool:
        """Frees the place of the queue that has been gone longest: of any queue if the new one is wanted, otherwise
        only of one that is not wanted either."""
        if self._now_ms - self._first_gone_ms < GONE_KEPT_MS:
            return False
        gone = [
            stats
            for stats in self
            if stats.gone_ms and self._now_ms - stats.gone_ms >= GONE_KEPT_MS and (is_wanted or self._is_plain(stats))
        ]
        if not gone:
            return False
        stats = min(gone, key=lambda one: one.gone_ms)
        del self._by_name[QueueName(stats.account, stats.name)]
        self._plain -= self._is_plain(stats)
        self._retired.add(stats)
        return True

    def _is_plain(self, stats: QueueStats) -> bool:
        return not any(fnmatchcase(stats.name, pattern) for pattern in self._patterns)
