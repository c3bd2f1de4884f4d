"""Which queues there are, in memory: the queue of a name is found without asking the store.

Embedded, the registry is loaded once and is the truth, since only this process changes queues. With several nodes the
same calls also take changes read from the store (`put`, `discard`)."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator

from cqs.errors import QueueDoesNotExist
from cqs.queue import Queue, QueueName, name_of_arn


class Registry:
    """Queues by name, by storage id and in order of their names."""

    def __init__(self) -> None:
        self._by_name: dict[QueueName, Queue] = {}
        self._by_storage: dict[int, Queue] = {}
        self._names: dict[str, list[str]] = {}

    def __len__(self) -> int:
        return len(self._by_name)

    def __iter__(self) -> Iterator[Queue]:
        return iter(list(self._by_name.values()))

    def get(self, key: QueueName) -> Queue | None:
        return self._by_name.get(key)

    def find(self, key: QueueName) -> Queue:
        """The queue of that name; raises QueueDoesNotExist."""
        queue = self._by_name.get(key)
        if queue is None:
            raise QueueDoesNotExist
        return queue

    def of_arn(self, arn: str) -> Queue | None:
        key = name_of_arn(arn)
        return None if key is None else self._by_name.get(key)

    def of_storage(self, storage_id: int) -> Queue | None:
        """The queue whose present generation this is; None when it was purged or deleted."""
        return self._by_storage.get(storage_id)

    def put(self, queue: Queue) -> None:
        """Adds the queue or replaces its namesake."""
        old = self._by_name.get(queue.key)
        if old is None:
            insort(self._names.setdefault(queue.account, []), queue.name)
        else:
            self._by_storage.pop(old.storage_id, None)
        self._by_name[queue.key] = queue
        self._by_storage[queue.storage_id] = queue

    def discard(self, queue: Queue) -> None:
        """Removes the queue, if it is still the one with this uid."""
        old = self._by_name.get(queue.key)
        if old is None or old.uid != queue.uid:
            return
        del self._by_name[queue.key]
        self._by_storage.pop(old.storage_id, None)
        names = self._names[queue.account]
        names.pop(bisect_left(names, queue.name))

    def page(self, account: str, prefix: str, after: str, limit: int) -> list[Queue]:
        """Up to `limit` queues of the account whose names start with `prefix` and sort above `after`, in order."""
        names = self._names.get(account, [])
        start = max(bisect_left(names, prefix), bisect_right(names, after))
        chosen = [name for name in names[start : start + limit] if name.startswith(prefix)]
        return [self._by_name[QueueName(account, name)] for name in chosen]
