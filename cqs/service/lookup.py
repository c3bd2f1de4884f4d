"""The queue of a name: known here, or else, on a node among others, in the store, so that a queue which was made
through one node works through all of them at once.

A name that nobody knows costs a read of the store each time it is asked for; so this node looks up LOOKUPS_A_SECOND
such names at most, and says of the others that they do not exist, which is true within a beat.
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
    """The queue of that name as it is now, also when another node has changed, deleted or purged it a moment ago, which
    this one has not heard of. Raises StoreUnavailable."""
    return engine.registry.get(key) if engine.cluster.is_alone else await news.refresh(engine, key)


async def renewed(engine: Engine, queue: Queue) -> Queue:
    """This queue as it is now (see `present`). Raises QueueDoesNotExist when it is gone, also if there is a new one of
    its name; StoreUnavailable."""
    found = await present(engine, queue.key)
    if found is None or found.uid != queue.uid:
        raise QueueDoesNotExist
    return found


async def meet(engine: Engine, arn: str) -> None:
    """Lets the registry know the queue with this ARN, if there is one. Raises StoreUnavailable."""
    key = name_of_arn(arn)
    if key is not None and engine.registry.get(key) is None:
        await _look_up(engine, key)


async def _look_up(engine: Engine, key: QueueName) -> Queue | None:
    cluster = engine.cluster
    if cluster.is_alone or cluster.lookups.take(_NODE, engine.clock.now_ms()):
        return None
    return await news.refresh(engine, key)
