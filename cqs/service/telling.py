"""A node that alone has lost a cache server asks another node to update it.

    node A, cut off                          store                     node B, which tends the server
    ───────────────                          ─────                     ──────────────────────────────
    store.append(m) ═══════════════════════► m
    cache.put(m) … no answer: dirty
    each BEAT_MS: "addresses: m …" ────────► news ───────────────────► reads m ── there: puts it; gone: removes it
    m is clean, unless dirty again ◄──────── news ◄─────────────────── "told"

So messages sent through A can be received through B by the next beat, however long A stays cut off. What is not
confirmed is told again: the announcement may have failed, or B may have died before it heard, or acted on, it. Until
then, A's mark stands, and a FIFO queue hands out nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from cqs.errors import CacheUnavailable, OutcomeUnknown, StoreUnavailable
from cqs.queue import Queue
from cqs.service import marking, repair
from cqs.service.engine import Engine, shard_of
from cqs.service.membership import LIFE_MS
from cqs.store.coordination import News

TELL, TOLD = "addresses", "addresses told"
BATCH, BATCHES_MAX = 500, 20
"""Addresses per news item, and items per shard and beat."""
AGAIN_S = LIFE_MS / 1_000
"""A node that died before it confirmed the news is known to be dead by then."""


async def tell(engine: Engine) -> None:
    """Raises StoreUnavailable, OutcomeUnknown."""
    cluster = engine.cluster
    for shard in engine.dirt.shards():
        if not cluster.membership.is_lost_here_alone(cluster.place(shard)):
            continue
        for _ in range(BATCHES_MAX):
            number, addresses = engine.dirt.tell(shard, BATCH, cluster.leadership.now_s, AGAIN_S)
            if not addresses:
                break
            words = " ".join(f"{address:x}" for address in addresses)
            await cluster.coordination.announce(News(TELL, f"{cluster.name}/{shard.storage_id}/{number}/{words}"))


async def hear(engine: Engine, news: Iterable[News]) -> None:
    """Raises StoreUnavailable, OutcomeUnknown."""
    for one in news:
        if one.kind not in (TELL, TOLD):
            continue
        node, storage_id, number, words = one.subject.split("/")
        queue = engine.registry.of_storage(int(storage_id))
        if queue is None:
            continue
        if one.kind == TOLD and node == engine.cluster.name:
            engine.dirt.confirm(shard_of(queue), int(number))
        elif one.kind == TELL and engine.cluster.membership.tends(engine.cluster.place(shard_of(queue))):
            is_true = await _make_true(engine, queue, [int(word, 16) for word in words.split()])
            if is_true:
                await engine.cluster.coordination.announce(News(TOLD, f"{node}/{storage_id}/{number}/"))


async def _make_true(engine: Engine, queue: Queue, addresses: Sequence[int]) -> bool:
    """False: the store does not answer for this queue. The rest of the news does not wait for it: it is told again."""
    try:
        await repair.make_true(engine, queue, addresses)
    except CacheUnavailable:
        await marking.unconfirmed(engine, shard_of(queue), addresses)
    except (StoreUnavailable, OutcomeUnknown):
        return False
    return True
