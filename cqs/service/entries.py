"""A message as the cache takes it."""

from __future__ import annotations

from cqs.cache.entry import Entry, State
from cqs.message import Message


def entry_of(message: Message) -> Entry:
    """An entry of a message that is in the store and was not received yet."""
    return Entry(
        address=message.address,
        sent_ms=message.sent_ms,
        group=message.group,
        sequence=message.sequence,
        message=message,
        visible_ms=message.visible_ms,
        state=State.DELAYED if message.visible_ms else State.READY,
    )
