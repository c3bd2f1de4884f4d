"""Finds queues by name: in this node's registry, else, on a node with peers, in the store, so that a queue created
through one node works through all of them at once.

Every lookup of an unknown name costs a read of the store. So this node looks up LOOKUPS_A_SECOND unknown names at most,
and answers that the others do not exist, which can be wrong only until the next beat.
"""

from __future__ import annotations

from cqs.errors import QueueDoesNotExist
from cqs.queue import Queue, QueueName, name_of_arn
from cqs.service import news
from cqs.service.engine import Engine

_NODE = "node"


async def find(engine: Engine, key: QueueName) -> Queue:
    """Raises QueueDoesNotExist, StoreUnavailable."""
    queue = engine.registry.get(key)
    if queue is None:
        queue = await _look_up(engine, key)
    if queue is None:
        raise QueueDoesNotExist
    return queue


async def present(engine: Engine, key: QueueName) -> Queue | None:
    """The queue of that name as it is now, even if another node changed, purged or deleted it a moment ago and this
    node has not heard of it. Raises StoreUnavailable."""
    return engine.registry.get(key) if engine.cluster.is_alone else await news.refresh(engine, key)


async def renewed(engine: Engine, queue: Queue) -> Queue:
    """This queue as it is now (see `present`). Raises QueueDoesNotExist if it is gone, even if a new queue has its
    name; StoreUnavailable."""
    found = await present(engine, queue.key)
    if found is None or found.uid != queue.uid:
        raise QueueDoesNotExist
    return found


async def meet(engine: Engine, arn: str) -> None:
    """Loads the queue with this ARN into the registry, if it exists. Raises StoreUnavailable."""
    key = name_of_arn(arn)
    if key is not None and engine.registry.get(key) is None:
        await _look_up(engine, key)


async def _look_up(engine: Engine, key: QueueName) -> Queue | None:
    cluster = engine.cluster
    if cluster.is_alone or cluster.lookups.take(_NODE, engine.clock.now_ms()):
        return None
    return await news.refresh(engine, key)
