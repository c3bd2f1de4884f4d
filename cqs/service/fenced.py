"""Puts messages into a shard, fenced by its epoch: what was read from the store before the shard was refilled is
rejected.

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

Only the shard itself remembers what was removed from it. So a put is safe only if the shard was present, in the same
epoch, before the message was read from or written to the store. A node that knows no epoch or an old one is refused,
learns the current one, and reads the store again: one extra put per fill, node and shard. The same happens to a node
that was suspended in between for so long that the shard may have dropped its tombstones. A page of a fill needs no
fence: it carries no content, and a receive reads that from the store.
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
    """Puts messages that were read from or written to the store while the shard had this epoch. If its epoch differs,
    puts what the store has of them now, with their current leases. Raises CacheUnavailable, StoreUnavailable;
    idempotent."""
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
    raise CacheUnavailable(f"The shard of {queue.name} keeps being dropped.")
