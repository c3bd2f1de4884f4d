"""Which data centre is home to a queue, for display."""

from __future__ import annotations

from typing import NamedTuple

from cqs.queue import Queue
from cqs.service.engine import Engine, shard_of
from cqs.store.coordination import Home


class Whereabouts(NamedTuple):
    """`here`: this node's data centre; `home` None = no data centre has served the queue yet."""

    here: str
    home: Home | None

    @property
    def is_elsewhere(self) -> bool:
        """Whether another data centre serves the queue."""
        return self.home is not None and self.home.datacenter != self.here


async def whereabouts(engine: Engine, queue: Queue) -> Whereabouts | None:
    """From this node's knowledge if it is at most `homes.BELIEVED_MS` old, else from the store. None = the store has
    one data centre, so there are no homes. Raises StoreUnavailable, OutcomeUnknown."""
    homes = engine.cluster.homes
    return Whereabouts(homes.datacenter, await homes.look(shard_of(queue))) if homes is not None else None
