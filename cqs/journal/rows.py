"""What the event loop tells of a message: a tuple of plain values, 0.2 us. `cqs.journal.texts` makes JSON of it, in the
recorder's process; the order of fields is theirs alone.

The body itself stays: its length and its digest go, which is at hand of a body that was never out of memory since it
was sent; one that was read from the store is hashed again.
"""

from __future__ import annotations

from cqs.cache.interface import Received
from cqs.digests import raw_of_body
from cqs.events import INDEX_ATTRIBUTE, RUN_ATTRIBUTE, SENDER_ATTRIBUTE
from cqs.journal.calls import Row
from cqs.message import Message

_TOLD = {RUN_ATTRIBUTE, SENDER_ATTRIBUTE, INDEX_ATTRIBUTE}


def of_message(message: Message) -> Row:
    """Its content and what its sender says of it."""
    body = message.body
    return (
        message.address,
        message.md5 or raw_of_body(body),
        len(body) if body.isascii() else len(body.encode()),
        message.sent_ms,
        message.sender_id,
        message.visible_ms,
        message.group,
        message.sequence,
        message.moved_id,
        _of_attributes(message) if message.attributes else (),
    )


def of_received(one: Received) -> Row:
    """A receive, with the digest of the body that went out; b"" when none did."""
    message = one.message
    return (
        one.address,
        one.sent_ms,
        one.receive_number,
        one.receive_count,
        one.received_ms,
        one.hidden_until_ms,
        one.group,
        one.sequence,
        b"" if message is None else message.md5 or raw_of_body(message.body),
    )


def of_given_back(one: Received) -> Row:
    """A receive that reached nobody."""
    return (*of_received(one)[:-1], b"")


def _of_attributes(message: Message) -> tuple[tuple[str, bytes], ...]:
    return tuple((one.name, one.value) for one in message.attributes if one.name in _TOLD)
