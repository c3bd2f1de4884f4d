"""Putting messages into a shard, fenced by its epoch: what somebody learnt from the store before the shard was filled
anew is no longer believed there.

    node A                        cache                    node B                       without the fence
    ──────                        ─────                    ──────
    store.append(m) ══ done       absent
                                                           receives m from the store
                                                           deletes m: store.delete ══ done
                                  absent: no tombstone ◄── cache.remove(m) … acknowledged
                                  begin_fill, epoch 2
    cache.put(m) ───────────────► m is ready, with its content                          m is handed out again
       with epoch 1: refused
    reads the store: m is gone

A shard remembers what was removed from it, and nothing else does. So a put is right when the shard was there, in the
same epoch, before the store was asked about the message or given it. A node that knows no epoch, or an old one, is
refused, learns it, and asks the store once more: that is one put a fill, node and shard. So is a node that was stopped
between the two for so long that the shard may have forgotten what was removed. A page of a fill needs no
fence: it brings no content, and a receive reads that from the store.
"""

from __future__ import annotations

from collections.abc import Sequence

from cqs.cache.entry import Entry
from cqs.cache.interface import Residency
from cqs.errors import CacheUnavailable
from cqs.queue import Queue
from cqs.service.engine import Engine, shard_of
from cqs.service.entries import entries_of
from cqs.service.epochs import Known

_TRIES = 10


async def put(engine: Engine, queue: Queue, entries: Sequence[Entry], known: Known) -> Residency:
    """Puts what the store had, or was given, after the shard had this epoch; if it has another, what the store has of
    them then, with the leases that were given meanwhile. Raises CacheUnavailable, StoreUnavailable; idempotent."""
    shard = shard_of(queue)
    for _ in range(_TRIES):
        found = await engine.cache.put(shard, entries, engine.epochs.in_time(known))
        if found is not Residency.ABSENT:
            return found
        present = await engine.cache.state(shard)
        if present.residency is Residency.ABSENT:
            return Residency.ABSENT
        known = engine.epochs.note(shard, present.epoch)
        stored = await engine.store.read(queue, [one.address for one in entries])
        entries = await entries_of(engine, queue, stored)
        if not entries:
            return present.residency
    raise CacheUnavailable(f"The shard of {queue.name} is dropped again and again.")
