"""Redrive: when a receive meets a message that was received too often, it moves to its queue's dead-letter queue.

    take reports it dead (in flight, 30 s) ──► store.move: there first, then gone here ──► cache: remove here, put there

If the mover dies, the message stays in its queue once the lease expires, or is in both queues, but never in neither. It
keeps its id and its past receives: ReceiveMessage reports the total over all queues (SQS), while a queue's maximum
counts only its own. On a standard queue it also keeps its sent time, so that retention keeps counting. It gets a new
address, since an address is never reused.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import structlog

from cqs.cache.interface import Received
from cqs.errors import CqsError
from cqs.message import Message
from cqs.queue import Queue
from cqs.service.carry import carry, contents
from cqs.service.engine import Engine
from cqs.service.retry import pause_ms
from cqs.store.interface import Move

BURY_S = 1.0
_log = structlog.get_logger("cqs.redrive")


async def bury(engine: Engine, queue: Queue, dead: Sequence[Received]) -> bool:
    """Moves over-received messages to the dead-letter queue. If the store fails or the target has just been deleted,
    they stay and are taken again after their lease. The receive does not fail, and waits BURY_S at most, since a move
    with an unknown outcome takes as long as the store's outage. False: the move is still in progress."""
    target = engine.registry.dead_letter_queue(queue)
    return target is None or await engine.background.wait_for("bury", _bury(engine, queue, target, dead), BURY_S)


async def _bury(engine: Engine, queue: Queue, target: Queue, dead: Sequence[Received]) -> None:
    try:
        now_ms = engine.clock.now_ms()
        messages = await contents(engine, queue, dead)
        last = {one.address: one for one in dead}
        moves = [Move(one.address, _buried(engine, queue, one, last[one.address], now_ms)) for one in messages]
        await carry(engine, queue, target, moves, pause_ms)
    except CqsError as error:
        _log.warning("redrive_failed", queue=queue.name, count=len(dead), reason=str(error))


def _buried(engine: Engine, queue: Queue, message: Message, last: Received, now_ms: int) -> Message:
    is_fifo = queue.settings.is_fifo
    return msgspec.structs.replace(
        message,
        address=engine.addresses.next(engine.store.rows),
        moved_id=message.message_id,
        source_arn=queue.arn,
        visible_ms=0,
        sent_ms=now_ms if is_fifo else message.sent_ms,
        dedup_id=message.message_id if is_fifo else message.dedup_id,
        earlier_receives=message.earlier_receives + last.receive_count,
        earlier_first_ms=message.earlier_first_ms or last.first_receive_ms,
    )
