"""Dead letters: a message received too often moves to its queue's dead-letter queue when the next receive touches it.

    take names it dead (in flight, 30 s) ──► store.move: there first, then gone here ──► cache: remove here, put there

A mover that dies leaves the message in its queue when the lease runs out, or in both queues, never in none. The message
keeps its id; on a standard queue also its sent time, so that retention goes on counting (SQS); it gets a new address,
since an address is never used twice.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import structlog

from cqs.cache.interface import Received
from cqs.errors import CqsError
from cqs.message import Message
from cqs.queue import Queue
from cqs.service.engine import Engine, shard_of
from cqs.service.send import entry_of
from cqs.store.interface import Move, Wanted

_log = structlog.get_logger("cqs.redrive")


async def bury(engine: Engine, queue: Queue, dead: Sequence[Received]) -> None:
    """Moves over-received messages to the dead-letter queue. When the store fails they stay where they are and are
    tried again after their lease; a receive does not fail for it."""
    policy = queue.settings.redrive
    target = engine.registry.of_arn(policy.target_arn) if policy is not None else None
    if target is None:
        await engine.cache.give_back(shard_of(queue), [one.ticket for one in dead])
        return
    try:
        moves = await _moves(engine, queue, target, dead)
        await carry(engine, queue, target, moves)
    except CqsError as error:
        _log.warning("redrive_failed", queue=queue.name, count=len(dead), reason=str(error))


async def carry(engine: Engine, source: Queue, target: Queue, moves: Sequence[Move]) -> None:
    """Moves messages from queue to queue in store and cache, and wakes the target's pollers. A FIFO target's messages
    get their sequence here. Raises what the store raises; then nothing has changed in the cache."""
    if target.settings.is_fifo and moves:
        moves = await _in_order(engine, target, moves)
    await engine.store.move(source, target, moves)
    await engine.cache.remove(shard_of(source), [move.old_address for move in moves])
    await engine.cache.put(shard_of(target), [entry_of(move.message) for move in moves])
    engine.waiters.wake(target.uid, len(moves))
    engine.witness.moved(source, target, [(move.old_address, move.message) for move in moves])


async def _moves(engine: Engine, queue: Queue, target: Queue, dead: Sequence[Received]) -> list[Move]:
    known = {one.address: one.message for one in dead if one.message is not None}
    wanted = [one.address for one in dead if one.message is None]
    if wanted:
        known.update((message.address, message) for message in await engine.store.read(queue, wanted))
    vanished = [address for address in wanted if address not in known]
    if vanished:
        await engine.cache.remove(shard_of(queue), vanished)
    now_ms = engine.clock.now_ms()
    return [
        Move(one.address, _buried(engine, queue, known[one.address], now_ms)) for one in dead if one.address in known
    ]


def _buried(engine: Engine, queue: Queue, message: Message, now_ms: int) -> Message:
    is_fifo = queue.settings.is_fifo
    return msgspec.structs.replace(
        message,
        address=engine.addresses.next(engine.store.rows),
        moved_id=message.message_id,
        source_arn=queue.arn,
        visible_ms=0,
        sent_ms=now_ms if is_fifo else message.sent_ms,
        dedup_id=message.message_id if is_fifo else message.dedup_id,
    )


async def _in_order(engine: Engine, target: Queue, moves: Sequence[Move]) -> list[Move]:
    claims = await engine.store.claim(target, [Wanted("", "", move.message.address) for move in moves], 0)
    return [
        Move(move.old_address, msgspec.structs.replace(move.message, sequence=claim.sequence))
        for move, claim in zip(moves, claims, strict=True)
    ]
