"""One batch of a move task, from lease to arrival:

take (a lease) ──► new addresses and ids ──► carry (`cqs.service.carry`) ──► progress

before the store has moved them    failure: given back, ready again; crash: ready when the lease expires, for which
                                   the next leader's runner waits
after the store has moved them     crash: the next fill or sweep finds them in the target; the next leader removes them
                                   from the source's cache before the lease expires and they are handed out once more
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import msgspec

from cqs.cache.entry import State
from cqs.cache.interface import Received
from cqs.errors import CqsError
from cqs.message import Message
from cqs.queue import Queue
from cqs.service import confirm
from cqs.service.carry import carry, contents
from cqs.service.engine import Engine, shard_of
from cqs.service.retry import Pause
from cqs.store.interface import Move, MoveTask

HELD_AT_ONCE = 1_000
NO_QUEUE = "AWS.SimpleQueueService.NonExistentQueue"
NO_SOURCE = "CouldNotDetermineMessageSource"


async def move_batch(engine: Engine, source: Queue, task: MoveTask, received: Sequence[Received], pause: Pause) -> str:
    """Moves the taken messages and counts them on the board. Returns why the task must fail, or "". Messages without a
    target queue become ready again. Raises CqsError if the store or cache failed; what was not moved then becomes ready
    again, too."""
    pending = {one.address: one for one in received}
    failure = ""
    batches: dict[int, tuple[Queue, list[Move]]] = {}
    try:
        for message in await contents(engine, source, received):
            target, reason = _target(engine, task, source, message)
            if target is None:
                failure = reason
                continue
            batch = batches.setdefault(target.uid, (target, []))[1]
            batch.append(Move(message.address, _renewed(engine, target, message)))
        for target, moves in batches.values():
            arrived = await carry(engine, source, target, moves, pause)
            engine.moves.count(task.handle, len(arrived))
            for move in moves:
                del pending[move.old_address]
    except CqsError:
        await _give_back(engine, source, pending.values())
        raise
    await _give_back(engine, source, pending.values())
    return failure


async def remove_moved(engine: Engine, source: Queue) -> int:
    """Removes from the source's cache what a mover that died had already moved. Returns when the last of the other
    messages in flight becomes visible (ms), 0 if there are none: the mover may have taken them and not moved them.
    Raises CacheUnavailable, StoreUnavailable."""
    after: int | None = None
    visible_ms = 0
    while True:
        page = await engine.cache.peek(shard_of(source), State.IN_FLIGHT, after, HELD_AT_ONCE)
        held = [entry.address for entry in page.entries]
        stored = {message.address for message in await engine.store.read(source, held)} if held else set[int]()
        gone = [address for address in held if address not in stored]
        if gone:
            await confirm.remove(engine, source, gone)
        visible_ms = max([visible_ms, *(entry.visible_ms for entry in page.entries if entry.address in stored)])
        after = page.after
        if after is None:
            return visible_ms


async def _give_back(engine: Engine, source: Queue, received: Collection[Received]) -> None:
    if received:
        count = await engine.cache.give_back(shard_of(source), [one.ticket for one in received])
        engine.waiters.wake(source.uid, count)


def _target(engine: Engine, task: MoveTask, source: Queue, message: Message) -> tuple[Queue | None, str]:
    arn = task.target_arn or message.source_arn
    if not arn:
        return None, NO_SOURCE
    target = engine.registry.of_arn(arn)
    if target is None or target.key == source.key or target.settings.is_fifo != source.settings.is_fifo:
        return None, NO_QUEUE
    return target, ""


def _renewed(engine: Engine, target: Queue, message: Message) -> Message:
    """As if it were sent to the target now: a new id and time, without its history."""
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
        earlier_receives=0,
        earlier_first_ms=0,
    )
