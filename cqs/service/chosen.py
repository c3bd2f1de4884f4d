"""Manual repairs: changes to messages chosen by id, without receiving them, from the console and the action
ChangeMessages.

Each message is changed separately. One that is gone by then, or in another state, is skipped and reported.
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
    """What to do to each message."""

    DELETE = "delete"
    REVEAL = "reveal"
    """A message in flight becomes visible now."""
    HIDE = "hide"
    """A message in flight stays hidden for the given time, counted from now."""
    HASTEN = "hasten"
    """A delayed message becomes visible now, under a new id. Not on a FIFO queue, where a resent message is delayed
    again."""


PERMISSION_OF = {
    Change.DELETE: "DeleteMessage",
    Change.REVEAL: "ChangeMessageVisibility",
    Change.HIDE: "ChangeMessageVisibility",
    Change.HASTEN: "ResendMessage",
}
"""The permission on the queue that each change needs."""


async def change(
    engine: Engine, queue: Queue, message_ids: Sequence[str], what: Change, sender_id: str, hide_ms: int = 0
) -> list[str]:
    """Returns the ids that were not changed: gone, or in another state. `sender_id` becomes the sender of messages that
    are sent again; `hide_ms` applies to HIDE. DELETE and HIDE are idempotent; a hastened message no longer exists under
    its old id. Raises UnsupportedOperation; a failure before the first change as it is, and a later one as
    OutcomeUnknown, which says how many had been changed."""
    if what is Change.HASTEN and queue.settings.is_fifo:
        raise UnsupportedOperation(
            f"{queue.name} is a FIFO queue, with one delay for all messages. Shorten its DelaySeconds instead."
        )
    missed: list[str] = []
    for place, message_id in enumerate(message_ids):
        try:
            found = await find(engine, queue, message_id, is_acting=True)
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
    """A message's delay can't be shortened, so a copy is sent without one and the delayed message is deleted."""
    if found.state is not State.DELAYED:
        raise InvalidParameterValue("It is not delayed.")
    message_id = found.message.message_id
    await resend(engine, queue, queue, message_id, Edits(delay_ms=0), sender_id, is_original_deleted=True)


async def _hide(engine: Engine, queue: Queue, found: Peeked, hide_ms: int) -> None:
    """Uses the current lease: its holder loses or keeps the message as if it had changed the visibility itself."""
    address = found.message.address
    entry = (await engine.cache.lookup(shard_of(queue), [address]))[0]
    if entry is None or entry.state is not State.IN_FLIGHT:
        raise InvalidParameterValue("It is not in flight.")
    receipt = Receipt(address, queue.uid, entry.receive_number, engine.clock.now_ms())
    await visibility.change(engine, queue, engine.receipts.write(receipt), hide_ms)
