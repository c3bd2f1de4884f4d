"""When this node last read from the store what the other nodes did to the queues. `cqs.service.heard` says what for."""

from __future__ import annotations

from cqs.queue import QueueName


class Hearing:
    """Times are seconds of the monotonic clock at which a read began. Belongs to one event loop."""

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

    def of(self, key: QueueName) -> float:
        """When the registry was last known to be right about that queue."""
        return self._queues_s.get(key, self._news_s)
