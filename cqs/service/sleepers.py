"""This node's waiting receives by shard, as the cache's bells address them."""

from __future__ import annotations

from collections.abc import Callable

from cqs.cache.interface import Shard
from cqs.service.engine import shard_of
from cqs.service.long_poll import Promise, Waiters
from cqs.service.registry import Registry


class NodeSleepers:
    """Implements `cqs.cache.bells.Sleepers`: maps each shard to its queue's waiters."""

    def __init__(self, registry: Registry, waiters: Waiters) -> None:
        self._registry = registry
        self._waiters = waiters

    def asleep(self, shard: Shard) -> int:
        if not self._waiters:
            return 0
        queue = self._registry.of_storage(shard.storage_id)
        return 0 if queue is None else self._waiters.asleep(queue.uid)

    def promise(self, shard: Shard, count_max: int) -> Promise | None:
        if not self._waiters:
            return None
        queue = self._registry.of_storage(shard.storage_id)
        return None if queue is None else self._waiters.promise(queue.uid, count_max)

    def wake(self, shard: Shard, count: int) -> int:
        queue = self._registry.of_storage(shard.storage_id)
        return 0 if queue is None else self._waiters.wake_spare(queue.uid, count)

    def wake_all(self, shard: Shard) -> None:
        queue = self._registry.of_storage(shard.storage_id)
        if queue is not None:
            self._waiters.wake_all(queue.uid)

    def nudge(self, is_meant: Callable[[Shard], bool]) -> None:
        waited_for = self._waiters.queues()
        for queue in self._registry if waited_for else ():
            if queue.uid in waited_for and is_meant(shard_of(queue)):
                self._waiters.wake(queue.uid, 1)

    def end(self, queue_uid: int) -> None:
        queue = next((queue for queue in self._registry if queue.uid == queue_uid), None)
        if queue is not None:
            self._registry.discard(queue)
        self._waiters.end_queue(queue_uid)
