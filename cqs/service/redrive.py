"""Dead letters: a message received too often moves to its queue's dead-letter queue when the next receive touches it.

    take names it dead (in flight, 30 s) ──► store.move: there first, then gone here ──► cache: remove here, put there

A mover that dies leaves the message in its queue when the lease runs out, or in both queues, never in none. The message
keeps its id, and what was counted of its receives: ReceiveMessage tells them over all queues (SQS), a queue's maximum
is about its own. On a standard queue it keeps its sent time, too, so that retention goes on counting. It gets a new
address, since an address is never used twice.
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
    """Moves over-received messages to the dead-letter queue. When the store fails, or the target has just been deleted,
    they stay where they are and are seen again after their lease; a receive does not fail for it, and waits for BURY_S
    at most: a move whose outcome is unknown takes as long as the store is away. False: it goes on."""
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
