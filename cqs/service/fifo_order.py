"""Order within a FIFO group over several nodes: what was acknowledged is never overtaken by what was sent after it.

    node A                                     store           node B
    ──────                                     ─────           ──────
    append 7, put 7 … no answer
    mark ════════════════════════════════════► marked          looked at the marks at r
    waits FRESH_S: by then B has looked again,                  hands out until r + FRESH_S, and no longer;
    or hands nothing out                                        sees the mark: hands nothing out
    answers: 7 is sent
                                    the client sends 8 ───────► append 8, put 8 … not handed out before 7 is there

The wait is for the first sends of an outage only. A node that alone has lost the cache refuses (503), so that the mark
ends at the next beats, when another node has put 7; where all have lost it, nobody hands anything out.

A send that is repeated through another node may be one that the first node stored and never put, having died between:
so the message is put again before the repetition is answered. Where sends have to reach every data centre it may be in
one of them alone, and would be missing in the other while what was sent after it is received there: so it is stored
again, too. What two senders send at one time has no order.
"""

from __future__ import annotations

from collections.abc import Sequence

from cqs.cache.interface import Shard
from cqs.errors import CacheUnavailable, ServiceUnavailable
from cqs.message import Message
from cqs.queue import Queue
from cqs.service import confirm, marking
from cqs.service.engine import Engine, shard_of
from cqs.service.entries import entries_of


def check_sender(engine: Engine, queue: Queue) -> None:
    """Raises ServiceUnavailable on a node that alone can't reach the queue's cache, and while that has no room: what is
    missing there keeps all of the queue from being handed out."""
    cluster, place = engine.cluster, engine.cluster.place(shard_of(queue))
    if place in cluster.short():
        raise ServiceUnavailable(f"The Redis server of {queue.name} is full. Send again when messages were deleted.")
    if not cluster.is_alone and cluster.membership.is_lost_here_alone(place):
        raise ServiceUnavailable(f"This node can't reach the cache of {queue.name}. Send again, through another one.")


def may_hand_out(engine: Engine, shard: Shard) -> bool:
    """Whether nothing acknowledged can be missing from the cache."""
    return not marking.is_doubted(engine, shard)


async def make_sure(engine: Engine, queue: Queue, addresses: Sequence[int]) -> None:
    """Messages that another node may have stored in part, or not put, are stored and put. Idempotent; a delete wins.
    Raises StoreUnavailable, OutcomeUnknown."""
    if not engine.cluster.is_alone:
        known = engine.epochs.of(shard_of(queue))
        stored = await engine.store.read(queue, addresses)
        if stored and not engine.store.reads_confirm:
            await engine.store.append(queue, stored)
        unknown = await _unknown(engine, queue, stored) if stored else []
        if unknown:
            await confirm.put(engine, queue, await entries_of(engine, queue, unknown), known)


async def _unknown(engine: Engine, queue: Queue, messages: Sequence[Message]) -> list[Message]:
    """Those that the cache does not have, as far as it tells."""
    try:
        known = await engine.cache.lookup(shard_of(queue), [message.address for message in messages])
    except CacheUnavailable:
        return list(messages)
    return [message for message, entry in zip(messages, known, strict=True) if entry is None]
