"""A queue's home data centre, for its pages; unknown if the store does not answer soon."""

from __future__ import annotations

import asyncio

from admin.visit import Visit
from cqs.errors import OutcomeUnknown, StoreUnavailable
from cqs.queue import Queue
from cqs.service.whereabouts import Whereabouts, whereabouts

WAIT_S = 1.0


async def where_of(visit: Visit, queue: Queue) -> Whereabouts | None:
    """None = unknown at the moment, or the store has only one data centre (`Cluster.datacenter` is "" then)."""
    try:
        async with asyncio.timeout(WAIT_S):
            return await whereabouts(visit.console.engine, queue)
    except (StoreUnavailable, OutcomeUnknown, TimeoutError):
        return None
