"""Order within a FIFO group across nodes: a message sent after an acknowledged one never overtakes it.

    node A                                     store           node B
    ──────                                     ─────           ──────
    append 7, put 7 … no answer
    mark ════════════════════════════════════► marked          read the marks at r
    waits FRESH_S: by then B has read them again,               hands out until r + FRESH_S, and no longer;
    or hands nothing out                                        sees the mark: hands nothing out
    answers: 7 is sent
                                    the client sends 8 ───────► append 8, put 8 … not handed out before 7 is there

Only the first sends of an outage wait. If one node alone has lost the cache, it refuses sends (503), so that the mark
ends within the next beats, once another node has put 7. If all nodes have lost it, nobody hands anything out.

A send retried through another node may be one that the first node stored but never put, having died in between. So the
message is put again before the retry is answered. Where sends must reach every data centre, the message may also be in
only one of them; the other would then hand out later messages without it, so it is stored again, too. Messages that two
senders send concurrently have no order.
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
    """Raises ServiceUnavailable if this node alone can't reach the queue's cache, or the cache is full: a message
    missing there stops the whole queue from being handed out."""
    cluster, place = engine.cluster, engine.cluster.place(shard_of(queue))
    if place in cluster.short():
        raise ServiceUnavailable(
            f"The Redis server of {queue.name} is full. Send again once messages have been deleted."
        )
    if not cluster.is_alone and cluster.membership.is_lost_here_alone(place):
        raise ServiceUnavailable(f"This node can't reach the cache of {queue.name}. Send again through another node.")


def may_hand_out(engine: Engine, shard: Shard) -> bool:
    """Whether the cache is sure to hold every acknowledged message."""
    return not marking.is_doubted(engine, shard)


async def make_sure(engine: Engine, queue: Queue, addresses: Sequence[int]) -> None:
    """Stores and puts messages that another node may have stored in part, or not put. Idempotent; a concurrent delete
    wins. Raises StoreUnavailable, OutcomeUnknown."""
    if not engine.cluster.is_alone:
        known = engine.epochs.of(shard_of(queue))
        stored = await engine.store.read(queue, addresses)
        if len(stored) < len(addresses):
            found = {message.address for message in stored}
            stored += await engine.cluster.seek(queue, [address for address in addresses if address not in found])
        if stored and not engine.store.reads_confirm:
            await engine.store.append(queue, stored)
        unknown = await _unknown(engine, queue, stored) if stored else []
        if unknown:
            await confirm.put(engine, queue, await entries_of(engine, queue, unknown), known)


async def make_known(engine: Engine, queue: Queue, addresses: Sequence[int]) -> None:
    """Returns when every node knows that the cache may lack these, if it may. Raises StoreUnavailable, OutcomeUnknown:
    a message sent after them could overtake them."""
    shard = shard_of(queue)
    if shard not in engine.marks.own and engine.dirt.has(shard, addresses):
        await marking.make_known(engine, shard)
    await marking.settle(engine, shard)


async def _unknown(engine: Engine, queue: Queue, messages: Sequence[Message]) -> list[Message]:
    """Those that the cache does not have, as far as it answers."""
    try:
        known = await engine.cache.lookup(shard_of(queue), [message.address for message in messages])
    except CacheUnavailable:
        return list(messages)
    return [message for message, entry in zip(messages, known, strict=True) if entry is None]
