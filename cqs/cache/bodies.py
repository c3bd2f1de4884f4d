"""How many bytes of message content the memory cache may keep. Messages beyond the budget are known without their
content, which the store has. Nothing is evicted: the oldest keep theirs, because they are taken first."""

from __future__ import annotations

from cqs.message import Message

OVERHEAD_BYTES = 450
"""Of a message, its strings and its tuple, besides the text itself."""
_ATTRIBUTE_OVERHEAD_BYTES = 250
_WIDE = 3
"""Bytes a character of a text that is not ASCII: between what Python (2 or 4) and UTF-8 (up to 4) take."""


def cost(message: Message) -> int:
    """Bytes of memory the message takes, roughly; the same at every call."""
    size = len(message.body)
    if not message.body.isascii():
        size *= _WIDE
    for attribute in message.attributes:
        size += len(attribute.value) + _ATTRIBUTE_OVERHEAD_BYTES
    return size + OVERHEAD_BYTES


class BodyBudget:
    """One for a whole cache."""

    __slots__ = ("_free_bytes",)

    def __init__(self, bytes_max: int) -> None:
        self._free_bytes = bytes_max

    @property
    def free_bytes(self) -> int:
        return self._free_bytes

    def admit(self, size: int) -> bool:
        """Reserves the bytes; False when they are not there."""
        if size > self._free_bytes:
            return False
        self._free_bytes -= size
        return True

    def release(self, size: int) -> None:
        self._free_bytes += size
