"""What the event loop reports about messages: each field as a list with one plain value per event. That is faster than
a tuple per event, on both sides: the recorder (`cqs.journal.columns`) needs lists, too. Only these two modules know the
order of the fields.

Not the body but its length and its digest are sent. The digest is already known if the body has been in memory since it
was sent; a body read from the store is hashed again. What few messages have is one field, None for the others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from cqs.cache.interface import Received
from cqs.digests import raw_of_body
from cqs.events import INDEX_ATTRIBUTE, RUN_ATTRIBUTE, SENDER_ATTRIBUTE, EventName
from cqs.journal.calls import Fields
from cqs.message import Message

_TOLD = {RUN_ATTRIBUTE, SENDER_ATTRIBUTE, INDEX_ATTRIBUTE}


def _of_sent(messages: Sequence[Message]) -> Fields:
    """The messages' content, and what their senders state about them. Without sender and time: a call's messages share
    them (`sender_of`)."""
    return [
        [one.address for one in messages],
        b"".join([one.md5 or raw_of_body(one.body) for one in messages]),
        [len(one.body) if one.body.isascii() else len(one.body.encode()) for one in messages],
        [
            (one.visible_ms, one.group, one.sequence, one.moved_id, _of_attributes(one))
            if one.group or one.visible_ms or one.attributes or one.sequence or one.moved_id
            else None
            for one in messages
        ],
    ]


def sender_of(message: Message) -> tuple[str, int]:
    """What the messages of one send share."""
    return message.sender_id, message.sent_ms


def _of_moved(moves: Sequence[tuple[int, Message]]) -> Fields:
    """The old addresses; the messages as sent, and each one's sender."""
    news = [new for _, new in moves]
    return [[old for old, _ in moves], list(map(sender_of, news)), *_of_sent(news)]


def _of_received(received: Sequence[Received]) -> Fields:
    """Receives, with the digests of the delivered bodies."""
    digests = [one.message.md5 or raw_of_body(one.message.body) for one in received if one.message is not None]
    return [*_of_given_back(received), b"".join(digests)]


def _of_given_back(received: Sequence[Received]) -> Fields:
    """Receives that reached nobody."""
    return [
        [one.address for one in received],
        [one.sent_ms for one in received],
        [one.receive_number for one in received],
        [one.receive_count for one in received],
        [one.received_ms for one in received],
        [one.hidden_until_ms for one in received],
        [(one.group, one.sequence) if one.group or one.sequence else None for one in received],
    ]


def _of_rows(rows: Sequence[Sequence[Any]]) -> Fields:
    """Rows as fields."""
    return list(map(list, zip(*rows, strict=True)))


def _of_values(values: Sequence[Any]) -> Fields:
    return [list(values)]


def _of_attributes(message: Message) -> tuple[tuple[str, bytes], ...]:
    return tuple((one.name, one.value) for one in message.attributes if one.name in _TOLD)


_BY_EVENT: dict[EventName, Callable[[Sequence[Any]], Fields]] = {
    EventName.SENT: _of_sent,
    EventName.RECEIVED: _of_received,
    EventName.FROM_STORE: _of_received,
    EventName.GIVEN_BACK: _of_given_back,
    EventName.MOVED: _of_moved,
    EventName.HIDDEN: _of_rows,
    EventName.RECEIVED_NOTHING: _of_rows,
}
MAKERS = {event.value: _BY_EVENT.get(event, _of_values) for event in EventName}
"""For each event: makes fields of what it was reported with."""
