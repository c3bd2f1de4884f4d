"""A node that alone has lost a cache server asks another one to tell it.

    node A, cut off                          store                     node B, which tends the server
    ───────────────                          ─────                     ──────────────────────────────
    store.append(m) ═══════════════════════► m
    cache.put(m) … no answer: dirty
    each BEAT_MS: "told: m …" ─────────────► news ───────────────────► reads m ── there: puts it; gone: removes it

So what is sent through A is received through B at the next beat, however long A stays cut off. A repairs it all once
more when it is back: only then does it know that nothing was missed.
"""

from __future__ import annotations

from collections.abc import Iterable

from cqs.errors import CacheUnavailable
from cqs.service import marking, repair
from cqs.service.engine import Engine, shard_of
from cqs.store.coordination import News

TOLD = "addresses"
BATCH, BATCHES_MAX = 500, 20
"""Addresses in one piece of news, and such pieces for a shard and beat."""


async def tell(engine: Engine) -> None:
    """Raises StoreUnavailable, OutcomeUnknown."""
    cluster = engine.cluster
    for shard in engine.dirt.shards():
        if not cluster.membership.is_lost_here_alone(cluster.place(shard)):
            continue
        for _ in range(BATCHES_MAX):
            addresses = engine.dirt.tell(shard, BATCH)
            if not addresses:
                break
            words = " ".join(f"{address:x}" for address in addresses)
            await cluster.coordination.announce(News(TOLD, f"{shard.storage_id}/{words}"))


async def hear(engine: Engine, news: Iterable[News]) -> None:
    """Raises StoreUnavailable, OutcomeUnknown."""
    cluster = engine.cluster
    for one in news:
        if one.kind != TOLD:
            continue
        storage_id, words = one.subject.split("/")
        queue = engine.registry.of_storage(int(storage_id))
        if queue is None or not cluster.membership.tends(cluster.place(shard_of(queue))):
            continue
        addresses = [int(word, 16) for word in words.split()]
        try:
            await repair.make_true(engine, queue, addresses)
        except CacheUnavailable:
            await marking.unconfirmed(engine, shard_of(queue), addresses)
