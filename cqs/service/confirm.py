"""Updates the cache after the store has decided. Never fails: the client's success stands, and what the cache did not
confirm becomes dirt, to be repaired. Receives waiting on this node are woken here, since the cache notifies only the
other nodes (`cqs.cache.bells`). (The first CQS returned an error here although the store had the message; its clients
retried, and every message existed four times.)"""

from __future__ import annotations

from collections.abc import Sequence

from cqs.cache.entry import Entry
from cqs.cache.interface import Residency
from cqs.errors import CacheUnavailable, OutcomeUnknown, StoreUnavailable
from cqs.queue import Queue
from cqs.service import fenced, marking, residency
from cqs.service.engine import Engine, shard_of
from cqs.service.epochs import Known


async def put(engine: Engine, queue: Queue, entries: Sequence[Entry], known: Known) -> bool:
    """Adds stored messages to their shard; if the shard is absent, its fill is started. False: it was absent, is being
    filled, perhaps by a node that has yet to see whether its queue is still there, or did not confirm them; so the
    queue may have been purged or deleted through another node. `known`: the shard's epoch as this node knew it before
    it wrote or read them (`cqs.service.fenced`)."""
    if not entries:
        return True
    shard = shard_of(queue)
    try:
        found = await fenced.put(engine, queue, entries, known)
    except (CacheUnavailable, StoreUnavailable, OutcomeUnknown):
        await marking.unconfirmed(engine, shard, [entry.address for entry in entries])
        return False
    finally:
        engine.waiters.wake(queue.uid, len(entries))
    if found is Residency.ABSENT:
        residency.ensure(engine, queue)
    return found is Residency.READY


async def remove(engine: Engine, queue: Queue, addresses: Sequence[int]) -> int | None:
    """Removes messages that are no longer in the store from their shard. Returns how many it knew; None: the cache did
    not confirm it."""
    if not addresses:
        return 0
    shard = shard_of(queue)
    known: int | None = None
    try:
        known = await engine.cache.remove(shard, addresses)
    except CacheUnavailable:
        await marking.unconfirmed(engine, shard, addresses)
    finally:
        if queue.settings.is_fifo:
            engine.waiters.wake(queue.uid, len(addresses))
    engine.fallback.forget(shard, addresses)
    return known
