"""A message of a shard, as its cache knows it."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from cqs.message import Message


class State(StrEnum):
    """Where a message is."""

    READY = "ready"
    DELAYED = "delayed"
    IN_FLIGHT = "in_flight"


class Entry(msgspec.Struct, gc=False, kw_only=True):
    """One message as the cache knows it. A backend may keep the object that `put` or `fill` was given, and changes
    only the fields below the line."""

    address: int
    sent_ms: int
    group: str | None = None
    sequence: int = 0
    # ---- changed by the cache
    message: Message | None = None
    """The content, when it is within the cache's byte budget; else the store has it."""
    visible_ms: int = 0
    """Delayed or in flight: until when. Ready: 0."""
    receive_count: int = 0
    first_receive_ms: int = 0
    receive_number: int = 0
    """Number of the last receive: the fence of its lease; 0 = never received."""
    state: State = State.READY
