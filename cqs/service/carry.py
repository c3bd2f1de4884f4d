"""Moves messages from one queue to another, for a redrive or a move task.

    (FIFO target: sequences) ──► store.move ══► witness ──► cache: remove here, put there ──► wake
                                 decides

`store.move` is the deciding step. It writes to the target first and then deletes from the source; a message that is
already gone (deleted, or moved before a crash) is not moved. When its outcome is unknown, the same move with the same
new addresses is retried until the outcome is known. What the cache does not confirm after that is repaired.

The target is looked up in the store first. A message moved to an old generation of the target would be lost:

    this node                        another node
    ─────────                        ────────────
    knows the target, generation 3
                                     purges or deletes it … acknowledged
    (learns of it at its next beat)
    moves to generation 3            without the lookup: gone from the source, garbage in the target
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import msgspec

from cqs.cache.interface import Received
from cqs.errors import OutcomeUnknown
from cqs.message import Message
from cqs.queue import Queue
from cqs.service import confirm, lookup
from cqs.service.engine import Engine, shard_of
from cqs.service.entries import entry_of
from cqs.service.retry import Pause, insist
from cqs.store.interface import Move, Wanted


async def carry(engine: Engine, source: Queue, target: Queue, moves: Sequence[Move], pause: Pause) -> list[Message]:
    """Moves the messages in store and cache, wakes the target's long polls, and returns the messages that arrived. A
    FIFO target's messages get their sequence numbers here. Raises StoreUnavailable; QueueDoesNotExist if none was
    moved."""
    target = await lookup.renewed(engine, target)
    if target.settings.is_fifo and moves:
        moves = await _in_order(engine, target, moves)
    known = engine.epochs.of(shard_of(target))
    arrived = await _move_surely(engine, source, target, moves, pause)
    new = {message.address for message in arrived}
    engine.witness.moved(source, target, [(m.old_address, m.message) for m in moves if m.message.address in new])
    entries = [entry_of(engine, target, message) for message in arrived]
    await confirm.remove(engine, source, [move.old_address for move in moves])
    await confirm.put(engine, target, entries, known)
    return arrived


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
        try:
            return await engine.store.move(source, target, moves)
        except OutcomeUnknown:
            return await insist(pause, "move", lambda: engine.store.move(source, target, moves))
    except asyncio.CancelledError:
        engine.witness.doubtful(source, [move.old_address for move in moves])
        engine.witness.doubtful(target, [move.message.address for move in moves])
        raise


async def contents(engine: Engine, source: Queue, received: Sequence[Received]) -> list[Message]:
    """The messages of a take, in its order. Those that are no longer in the store are removed from the cache."""
    known = {one.address: one.message for one in received if one.message is not None}
    wanted = [one.address for one in received if one.message is None]
    if wanted:
        known.update((message.address, message) for message in await engine.store.read(source, wanted))
        vanished = [address for address in wanted if address not in known]
        if vanished:
            await engine.cache.remove(shard_of(source), vanished)
    return [known[one.address] for one in received if one.address in known]
