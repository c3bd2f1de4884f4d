"""Permanent deletion of messages from the store."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from cqs.errors import OutcomeUnknown
from cqs.queue import Queue
from cqs.service.engine import Engine


async def erase(engine: Engine, queue: Queue, addresses: Sequence[int]) -> None:
    """As the store's `delete`. If the outcome is unknown, also because a stopping server cancelled it, the witness is
    told. Idempotent. Raises StoreUnavailable, OutcomeUnknown."""
    try:
        await engine.store.delete(queue, addresses)
    except (OutcomeUnknown, asyncio.CancelledError):
        engine.witness.doubtful(queue, addresses)
        raise
