"""Sends a message again, unchanged or edited, and deletes the original on request: repairing dead letters by hand.

    find ──► send (a new message, durable) ──► on request: discard the original (store first, then cache)

A crash between the two leaves both messages, never none. On a FIFO queue the copy gets a new deduplication id unless
one is given. If the copy is a duplicate of an earlier message, nothing new was sent, so the original stays.
"""

from __future__ import annotations

import msgspec

from cqs import ids
from cqs.errors import after_a_write
from cqs.message import Attribute
from cqs.queue import Queue
from cqs.service.delete import erase
from cqs.service.draft_rules import Draft
from cqs.service.engine import Engine
from cqs.service.peek import Peeked, find
from cqs.service.send import Sent, send

_DEDUP_BITS = 64


class Edits(msgspec.Struct, frozen=True, kw_only=True):
    """Changes to the original; None = unchanged."""

    body: str | None = None
    attributes: tuple[Attribute, ...] | None = None
    delay_ms: int | None = None
    group: str | None = None
    dedup_id: str | None = None


class Resent(msgspec.Struct, frozen=True):
    """The result."""

    sent: Sent
    is_original_deleted: bool


async def resend(
    engine: Engine,
    source: Queue,
    target: Queue,
    message_id: str,
    edits: Edits,
    sender_id: str,
    *,
    is_original_deleted: bool = False,
) -> Resent:
    """Sends a copy to `target`, which may be `source`. Raises ResourceNotFound, and as `send`; also OutcomeUnknown,
    which says so, if the copy was sent but the original could not be deleted."""
    original = await find(engine, source, message_id, is_acting=True)
    before = engine.addresses.next(engine.store.rows)
    sent = await send(engine, target, _draft(engine, target, original, edits), sender_id)
    address = ids.parse(sent.message_id)
    is_new = address is not None and address > before
    if not (is_original_deleted and is_new):
        return Resent(sent, False)
    with after_a_write(f"It was sent to {target.name} as {sent.message_id}, but the original is still there:"):
        await discard(engine, source, original.message.address)
    return Resent(sent, True)


async def discard(engine: Engine, queue: Queue, address: int) -> None:
    """Deletes the message in any state, without a receipt handle. Idempotent. Raises StoreUnavailable,
    OutcomeUnknown."""
    await erase(engine, queue, [address])


def _draft(engine: Engine, target: Queue, original: Peeked, edits: Edits) -> Draft:
    message = original.message
    is_fifo = target.settings.is_fifo
    group = message.group if edits.group is None else edits.group
    own_id = f"resent-{engine.rng.getrandbits(_DEDUP_BITS):016x}" if is_fifo else None
    return Draft(
        body=message.body if edits.body is None else edits.body,
        attributes=message.attributes if edits.attributes is None else edits.attributes,
        delay_ms=edits.delay_ms,
        trace_header=message.trace_header,
        group=group,
        dedup_id=own_id if edits.dedup_id is None else edits.dedup_id,
    )
