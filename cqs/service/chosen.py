"""What is done to messages that somebody chose by their ids, without receiving them: repairs by hand, from the console
and by the action ChangeMessages.

Each message is a step of its own; one that is gone meanwhile, or in another state, is left out and told.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from cqs.cache.entry import State
from cqs.errors import CqsError, InvalidParameterValue, OutcomeUnknown, ResourceNotFound, UnsupportedOperation
from cqs.plural import counted
from cqs.queue import Queue
from cqs.receipt import Receipt
from cqs.service import visibility
from cqs.service.engine import Engine, shard_of
from cqs.service.peek import Peeked, find
from cqs.service.resend import Edits, discard, resend

CHOSEN_MAX = 1_000


class Change(StrEnum):
    """What is done to each."""

    DELETE = "delete"
    REVEAL = "reveal"
    """One in flight becomes visible now."""
    HIDE = "hide"
    """One in flight stays hidden, from now for as long as is said."""
    HASTEN = "hasten"
    """A delayed one becomes visible now, under a new id. Not of a FIFO queue: what is sent anew is delayed anew."""


PERMISSION_OF = {
    Change.DELETE: "DeleteMessage",
    Change.REVEAL: "ChangeMessageVisibility",
    Change.HIDE: "ChangeMessageVisibility",
    Change.HASTEN: "ResendMessage",
}
"""What whoever asks for it must be allowed to do to the queue."""


async def change(
    engine: Engine, queue: Queue, message_ids: Sequence[str], what: Change, sender_id: str, hide_ms: int = 0
) -> list[str]:
    """The ids that it could not be done to: gone, or in another state. `sender_id` is told as the sender of what is
    sent anew, `hide_ms` counts for HIDE. Deleting and hiding may be repeated; a hastened message is gone under its old
    id. Raises UnsupportedOperation, and what failed when nothing was changed before, else OutcomeUnknown, which says
    how many were."""
    if what is Change.HASTEN and queue.settings.is_fifo:
        raise UnsupportedOperation(f"{queue.name} delays all of its messages alike. Shorten its DelaySeconds instead.")
    missed: list[str] = []
    for place, message_id in enumerate(message_ids):
        try:
            found = await find(engine, queue, message_id)
            await _change_one(engine, queue, found, what, sender_id, hide_ms)
        except (ResourceNotFound, InvalidParameterValue):
            missed.append(message_id)
        except CqsError as error:
            if place == len(missed):
                raise
            done = f"Of {counted(len(message_ids), 'message')}, {place - len(missed)} had been changed before this"
            raise OutcomeUnknown(f"{done}: {error}") from error
    return missed


async def _change_one(engine: Engine, queue: Queue, found: Peeked, what: Change, sender_id: str, hide_ms: int) -> None:
    if what is Change.DELETE:
        await discard(engine, queue, found.message.address)
    elif what is Change.HASTEN:
        await _hasten(engine, queue, found, sender_id)
    else:
        await _hide(engine, queue, found, hide_ms if what is Change.HIDE else 0)


async def _hasten(engine: Engine, queue: Queue, found: Peeked, sender_id: str) -> None:
    """A delay can't be taken back, so the message is sent anew without one and the delayed one goes."""
    if found.state is not State.DELAYED:
        raise InvalidParameterValue("It is not delayed.")
    message_id = found.message.message_id
    await resend(engine, queue, queue, message_id, Edits(delay_ms=0), sender_id, is_original_deleted=True)


async def _hide(engine: Engine, queue: Queue, found: Peeked, hide_ms: int) -> None:
    """With the lease that is alive: whoever holds it, loses or keeps it as if it had been changed by the receiver."""
    address = found.message.address
    entry = (await engine.cache.lookup(shard_of(queue), [address]))[0]
    if entry is None or entry.state is not State.IN_FLIGHT:
        raise InvalidParameterValue("It is not in flight.")
    receipt = Receipt(address, queue.uid, entry.receive_number, engine.clock.now_ms())
    await visibility.change(engine, queue, engine.receipts.write(receipt), hide_ms)
