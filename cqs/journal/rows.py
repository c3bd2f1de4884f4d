"""What the event loop reports about a message: a tuple of plain values, 0.1 us. `cqs.journal.columns` makes JSON of it
in the recorder's process; only these two modules know the order of the fields.

Not the body but its length and its digest are sent. The digest is already known if the body has been in memory since it
was sent; a body read from the store is hashed again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from cqs.cache.interface import Received
from cqs.digests import raw_of_body
from cqs.events import INDEX_ATTRIBUTE, RUN_ATTRIBUTE, SENDER_ATTRIBUTE, EventName
from cqs.journal.calls import Row
from cqs.message import Message

_TOLD = {RUN_ATTRIBUTE, SENDER_ATTRIBUTE, INDEX_ATTRIBUTE}


def of_messages(messages: Sequence[Message]) -> list[Row]:
    """Rows with the messages' content and what their senders state about them."""
    return [
        (
            one.address,
            one.md5 or raw_of_body(one.body),
            len(one.body) if one.body.isascii() else len(one.body.encode()),
            one.sent_ms,
            one.sender_id,
            one.visible_ms,
            one.group,
            one.sequence,
            one.moved_id,
            _of_attributes(one) if one.attributes else (),
        )
        for one in messages
    ]


def of_received(received: Sequence[Received], *, is_given_back: bool = False) -> list[Row]:
    """Rows of receives, each with the digest of the delivered body; b"" for those that reached nobody."""
    return [
        (
            one.address,
            one.sent_ms,
            one.receive_number,
            one.receive_count,
            one.received_ms,
            one.hidden_until_ms,
            one.group,
            one.sequence,
            b"" if is_given_back or one.message is None else one.message.md5 or raw_of_body(one.message.body),
        )
        for one in received
    ]


def _of_attributes(message: Message) -> tuple[tuple[str, bytes], ...]:
    return tuple((one.name, one.value) for one in message.attributes if one.name in _TOLD)


MAKERS: dict[str, Callable[[Sequence[Any]], list[Any]]] = {
    EventName.SENT.value: of_messages,
    EventName.RECEIVED.value: of_received,
    EventName.FROM_STORE.value: of_received,
}
"""For events reported with messages and receives; all others are reported as rows."""
