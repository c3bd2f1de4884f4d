"""Messages past their retention that are still to be deleted from the store."""

from __future__ import annotations

from collections.abc import Sequence

from cqs.queue import Queue


class Expiring:
    """By queue, in FIFO order. Kept in memory only: the next fill finds what is lost here."""

    def __init__(self) -> None:
        self._by_storage: dict[int, tuple[Queue, list[int]]] = {}

    def add(self, queue: Queue, addresses: Sequence[int]) -> None:
        self._by_storage.setdefault(queue.storage_id, (queue, []))[1].extend(addresses)

    def take(self, limit: int) -> tuple[Queue, list[int]] | None:
        """Removes and returns up to `limit` addresses of one queue; None if there are none."""
        for queue, addresses in self._by_storage.values():
            taken = addresses[-limit:]
            del addresses[-limit:]
            if not addresses:
                del self._by_storage[queue.storage_id]
            return queue, taken
        return None
