"""All queues, in memory: a name resolves to a queue without a store read.

In embedded mode the registry is loaded once and is authoritative, since only this process changes queues. With several
nodes the same calls (`put`, `discard`) also apply changes read from the store.

Updates may arrive out of order, since whoever saved a change updates the registry only when it runs again:

    settings                          tags                              deletion
    ────────                          ────                              ────────
    store.save: version 1
                                      store.save: version 2
                                      put(version 2)
                                                                        store.drop, discard
    put(version 1): older, ignored    (a put that comes now: the uid was discarded, ignored)
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections import OrderedDict
from collections.abc import Iterator

from cqs.errors import QueueDoesNotExist
from cqs.queue import Queue, QueueName, name_of_arn

DISCARDED_MAX = 1_000
"""How many deleted queues are remembered, so that late updates do not bring them back."""


class Registry:
    """Queues by name, by storage id, in order of their names, and by their dead-letter queue."""

    def __init__(self) -> None:
        self._by_name: dict[QueueName, Queue] = {}
        self._by_storage: dict[int, Queue] = {}
        self._names: dict[str, list[str]] = {}
        self._sources: dict[str, list[str]] = {}
        self._discarded: OrderedDict[int, None] = OrderedDict()
        self._uids: set[int] = set()

    def __len__(self) -> int:
        return len(self._by_name)

    def __iter__(self) -> Iterator[Queue]:
        return iter(list(self._by_name.values()))

    def get(self, key: QueueName) -> Queue | None:
        return self._by_name.get(key)

    def has(self, key: QueueName) -> bool:
        return key in self._by_name

    def find(self, key: QueueName) -> Queue:
        """The queue of that name; raises QueueDoesNotExist."""
        queue = self._by_name.get(key)
        if queue is None:
            raise QueueDoesNotExist
        return queue

    def has_uid(self, uid: int) -> bool:
        """Whether a queue has this uid, or a recently discarded one had it."""
        return uid in self._uids or uid in self._discarded

    def of_arn(self, arn: str) -> Queue | None:
        key = name_of_arn(arn)
        return None if key is None else self._by_name.get(key)

    def dead_letter_queue(self, queue: Queue) -> Queue | None:
        """Its dead-letter queue; None if it has none configured, or that does not exist."""
        redrive = queue.settings.redrive
        return None if redrive is None else self.of_arn(redrive.target_arn)

    def of_storage(self, storage_id: int) -> Queue | None:
        """The queue whose current generation has this storage id; None if it was purged or deleted."""
        return self._by_storage.get(storage_id)

    def put(self, queue: Queue) -> None:
        """Adds the queue or replaces the one of that name. Ignored if a newer version of it is known, or it was
        discarded."""
        if queue.uid in self._discarded:
            return
        old = self._by_name.get(queue.key)
        if old is None:
            insort(self._names.setdefault(queue.account, []), queue.name)
        elif old.uid == queue.uid and old.version > queue.version:
            return
        else:
            self._uids.discard(old.uid)
            self._by_storage.pop(old.storage_id, None)
            self._forget_source(old)
        self._uids.add(queue.uid)
        self._by_name[queue.key] = queue
        self._by_storage[queue.storage_id] = queue
        target_arn = _target_of(queue)
        if target_arn:
            insort(self._sources.setdefault(target_arn, []), queue.name)

    def discard(self, queue: Queue) -> None:
        """Removes the queue if the one of that name has this uid, and keeps it from coming back."""
        self._discarded[queue.uid] = None
        if len(self._discarded) > DISCARDED_MAX:
            self._discarded.popitem(last=False)
        old = self._by_name.get(queue.key)
        if old is None or old.uid != queue.uid:
            return
        self._uids.discard(old.uid)
        del self._by_name[queue.key]
        self._by_storage.pop(old.storage_id, None)
        self._forget_source(old)
        names = self._names[queue.account]
        names.pop(bisect_left(names, queue.name))
        if not names:
            del self._names[queue.account]

    def page(self, account: str, prefix: str, after: str, limit: int) -> list[Queue]:
        """Up to `limit` queues of the account whose names start with `prefix` and sort above `after`, in order."""
        names = self._names.get(account, [])
        start = max(bisect_left(names, prefix), bisect_right(names, after))
        chosen = [name for name in names[start : start + limit] if name.startswith(prefix)]
        return [self._by_name[QueueName(account, name)] for name in chosen]

    def sources(self, target: Queue, after: str, limit: int) -> list[Queue]:
        """Up to `limit` queues that have `target` as their dead-letter queue and names above `after`, in order."""
        names = self._sources.get(target.arn, [])
        start = bisect_right(names, after)
        return [self._by_name[QueueName(target.account, name)] for name in names[start : start + limit]]

    def bereft(self, account: str) -> list[Queue]:
        """Queues of the account whose dead-letter queue does not exist."""
        targets = [(name_of_arn(arn), names) for arn, names in self._sources.items()]
        gone = [names for key, names in targets if key and key.account == account and key not in self._by_name]
        return [self._by_name[QueueName(account, name)] for names in gone for name in names]

    def _forget_source(self, queue: Queue) -> None:
        target_arn = _target_of(queue)
        if not target_arn:
            return
        names = self._sources[target_arn]
        names.pop(bisect_left(names, queue.name))
        if not names:
            del self._sources[target_arn]


def _target_of(queue: Queue) -> str:
    """The ARN of its dead-letter queue, "" if it has none; SQS requires it to be in the queue's own account."""
    redrive = queue.settings.redrive
    target = name_of_arn(redrive.target_arn) if redrive is not None else None
    return redrive.target_arn if redrive is not None and target is not None and target.account == queue.account else ""
