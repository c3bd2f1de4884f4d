"""Which data centre is home to a queue, for display."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from cqs.errors import OutcomeUnknown, StoreUnavailable
from cqs.queue import Queue
from cqs.service.engine import Engine, shard_of
from cqs.service.homes import READS
from cqs.side_by_side import side_by_side
from cqs.store.coordination import Home

WAIT_S = 1.0


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


async def served_elsewhere(engine: Engine, queues: Sequence[Queue]) -> list[Queue]:
    """Those that another data centre is home to, so that what the caches here have of them is out of date. Reads the
    homes that are not known to be here; none is returned if the store does not answer within WAIT_S."""
    homes = engine.cluster.homes
    if homes is None:
        return []
    unsure = [queue for queue in queues if not homes.is_known_here(shard_of(queue))]
    try:
        async with asyncio.timeout(WAIT_S):
            found = await side_by_side([partial(homes.look, shard_of(queue)) for queue in unsure], READS)
    except (StoreUnavailable, OutcomeUnknown, TimeoutError):
        return []
    return [
        queue
        for queue, home in zip(unsure, found, strict=True)
        if home is not None and home.datacenter != homes.datacenter
    ]
