"""The byte budget for message contents in the memory cache. Messages beyond the budget are cached without their
content, which the store has. Nothing is evicted: the oldest messages keep theirs, because they are taken first."""

from __future__ import annotations

from cqs.message import Message

OVERHEAD_BYTES = 450
"""Memory that a message, its strings and its tuple take besides the text itself."""
_ATTRIBUTE_OVERHEAD_BYTES = 250
_WIDE = 3
"""Bytes per character of a non-ASCII text: between what Python (2 or 4) and UTF-8 (up to 4) use."""


def cost(message: Message) -> int:
    """Approximate bytes of memory the message takes; the same on every call."""
    size = len(message.body)
    if not message.body.isascii():
        size *= _WIDE
    for attribute in message.attributes:
        size += len(attribute.value) + _ATTRIBUTE_OVERHEAD_BYTES
    return size + OVERHEAD_BYTES


class BodyBudget:
    """One budget for a whole cache."""

    __slots__ = ("_free_bytes",)

    def __init__(self, bytes_max: int) -> None:
        self._free_bytes = bytes_max

    def admit(self, size: int) -> bool:
        """Reserves the bytes; False when fewer are free."""
        if size > self._free_bytes:
            return False
        self._free_bytes -= size
        return True

    def release(self, size: int) -> None:
        self._free_bytes += size
