"""What is past its retention and not deleted from the store yet."""

from __future__ import annotations

from collections.abc import Sequence

from cqs.queue import Queue


class Expiring:
    """By queue, first come, first served. Kept in memory: the next fill finds what is forgotten here."""

    def __init__(self) -> None:
        self._by_storage: dict[int, tuple[Queue, list[int]]] = {}

    def add(self, queue: Queue, addresses: Sequence[int]) -> None:
        self._by_storage.setdefault(queue.storage_id, (queue, []))[1].extend(addresses)

    def take(self, limit: int) -> tuple[Queue, list[int]] | None:
        """Up to `limit` addresses of one queue, which are forgotten here; None when there are none."""
        for queue, addresses in self._by_storage.values():
            taken = addresses[-limit:]
            del addresses[-limit:]
            if not addresses:
                del self._by_storage[queue.storage_id]
            return queue, taken
        return None
