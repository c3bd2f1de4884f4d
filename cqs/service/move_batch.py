"""One batch of a move task, from its lease to its arrival:

    take (a lease) ──► new addresses, sequences ──► store.move ══► cache: remove here, put there ──► wake ──► progress

`store.move` is the deciding step: there first, then gone here, and a message that is gone already (deleted, or moved
before a crash) is not moved. When the outcome of a move is unknown, the same move with the same new addresses is made
again until it is known.

    before store.move    the store fails: given back, ready again, tried later; a crash: ready when the lease is lost
    after store.move     the cache fails: removed and put again until it works; a crash: the next fill finds it there
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import msgspec

from cqs.cache.interface import Received
from cqs.errors import CqsError, OutcomeUnknown
from cqs.message import Message
from cqs.queue import Queue
from cqs.service.engine import Engine, shard_of
from cqs.service.retry import Pause, insist
from cqs.service.send import entry_of
from cqs.store.interface import Move, MoveTask, Wanted

NO_QUEUE = "AWS.SimpleQueueService.NonExistentQueue"
NO_SOURCE = "CouldNotDetermineMessageSource"


async def move_batch(engine: Engine, source: Queue, task: MoveTask, received: Sequence[Received], pause: Pause) -> str:
    """Moves what was taken; the board counts it. Returns why the task must fail, "" when it need not: a message that
    has no queue to go to is ready again. Raises CqsError when the store or cache failed; what was not moved is ready
    again then, too."""
    pending = {one.address: one for one in received}
    failure = ""
    batches: dict[int, tuple[Queue, list[Move]]] = {}
    try:
        for message in await _contents(engine, source, received):
            target, reason = _target(engine, task, source, message)
            if target is None:
                failure = reason
                continue
            batch = batches.setdefault(target.uid, (target, []))[1]
            batch.append(Move(message.address, _renewed(engine, target, message)))
        for target, moves in batches.values():
            count = await _move(engine, source, target, moves, pause)
            engine.moves.count(task.handle, count)
            for move in moves:
                del pending[move.old_address]
    except CqsError:
        await _give_back(engine, source, pending.values())
        raise
    await _give_back(engine, source, pending.values())
    return failure


async def _give_back(engine: Engine, source: Queue, received: Collection[Received]) -> None:
    if received:
        await engine.cache.give_back(shard_of(source), [one.ticket for one in received])


async def _contents(engine: Engine, source: Queue, received: Sequence[Received]) -> list[Message]:
    """The messages in the order taken. Those that the store does not have any more leave the cache."""
    known = {one.address: one.message for one in received if one.message is not None}
    wanted = [one.address for one in received if one.message is None]
    if wanted:
        known.update((message.address, message) for message in await engine.store.read(source, wanted))
        vanished = [address for address in wanted if address not in known]
        if vanished:
            await engine.cache.remove(shard_of(source), vanished)
    return [known[one.address] for one in received if one.address in known]


def _target(engine: Engine, task: MoveTask, source: Queue, message: Message) -> tuple[Queue | None, str]:
    arn = task.target_arn or message.source_arn
    if not arn:
        return None, NO_SOURCE
    target = engine.registry.of_arn(arn)
    if target is None or target.key == source.key or target.settings.is_fifo != source.settings.is_fifo:
        return None, NO_QUEUE
    return target, ""


def _renewed(engine: Engine, target: Queue, message: Message) -> Message:
    """As if it had been sent to the target now: a new id, a new time, nothing remembered of where it was."""
    now_ms = engine.clock.now_ms()
    delay_ms = target.settings.delay_ms
    return msgspec.structs.replace(
        message,
        address=engine.addresses.next(engine.store.rows),
        sent_ms=now_ms,
        visible_ms=now_ms + delay_ms if delay_ms else 0,
        sequence=0,
        moved_id=None,
        source_arn=None,
    )


async def _move(engine: Engine, source: Queue, target: Queue, moves: list[Move], pause: Pause) -> int:
    """How many of the moves were made. Raises StoreUnavailable when none was."""
    if target.settings.is_fifo:
        moves = await _in_order(engine, target, moves)
    arrived = await _move_surely(engine, source, target, moves, pause)
    here, there = shard_of(source), shard_of(target)
    entries = [entry_of(message) for message in arrived]
    await insist(pause, "remove", lambda: engine.cache.remove(here, [move.old_address for move in moves]))
    await insist(pause, "put", lambda: engine.cache.put(there, entries))
    engine.waiters.wake(target.uid, len(arrived))
    new = {message.address for message in arrived}
    engine.witness.moved(source, target, [(m.old_address, m.message) for m in moves if m.message.address in new])
    return len(arrived)


async def _in_order(engine: Engine, target: Queue, moves: Sequence[Move]) -> list[Move]:
    claims = await engine.store.claim(target, [Wanted("", "", move.message.address) for move in moves], 0)
    return [
        Move(move.old_address, msgspec.structs.replace(move.message, sequence=claim.sequence))
        for move, claim in zip(moves, claims, strict=True)
    ]


async def _move_surely(
    engine: Engine, source: Queue, target: Queue, moves: Sequence[Move], pause: Pause
) -> list[Message]:
    try:
        return await engine.store.move(source, target, moves)
    except OutcomeUnknown:
        return await insist(pause, "move", lambda: engine.store.move(source, target, moves))
