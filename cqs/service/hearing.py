"""When this node last knew what the other nodes did to the queues.

Another data centre's cache still has the shard of a queue that was purged or deleted, and so has a Redis that the node
which did it could not reach. So that is acknowledged HEARD_MS after it was announced: nodes hear news at each beat. One
whose beats are late, because it was stopped or its Cassandra is slow, may not have heard it even so. It looks at the
queue in the store before it acknowledges a send:

    dc2, home, stopped                      store                       dc1
    ──────────────────                      ─────                       ───
                                            generation 4 ◄───────────── purges, waits HEARD_MS, answers
    continues: knows generation 3
    append to 3, put: its cache has 3
    has heard nothing for HEARD_MS ───────► looks: 4, refuses (503)     without the look: acknowledged, and garbage
"""

from __future__ import annotations

from cqs.queue import QueueName
from cqs.service.membership import BEAT_MS

HEARD_MS = 2 * BEAT_MS


class Hearing:
    """When this node last read from the store what the others did. Times are seconds of the monotonic clock at which a
    read began. Belongs to one event loop."""

    def __init__(self) -> None:
        self._news_s = float("-inf")
        self._queues_s: dict[QueueName, float] = {}

    def note_news(self, began_s: float) -> None:
        """All news was read and applied."""
        self._news_s = began_s
        self._queues_s.clear()

    def note_queue(self, key: QueueName, began_s: float) -> None:
        """The queue was read, and the registry has what was found."""
        self._queues_s[key] = began_s

    def is_late(self, key: QueueName, now_s: float) -> bool:
        """Whether another node may have acknowledged a purge or deletion of the queue that this node does not know
        of."""
        return now_s - self._queues_s.get(key, self._news_s) >= HEARD_MS / 1_000
