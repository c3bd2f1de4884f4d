"""A message as the cache stores it."""

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
    """One message as the cache stores it. A backend may keep the object passed to `put` or `fill`, and changes only the
    fields below the line."""

    address: int
    sent_ms: int
    group: str | None = None
    sequence: int = 0
    # ---- changed by the cache
    message: Message | None = None
    """The content, if it fits the cache's byte budget; otherwise only the store has it."""
    visible_ms: int = 0
    """When a delayed or in-flight message becomes visible; 0 when ready."""
    receive_count: int = 0
    first_receive_ms: int = 0
    receive_number: int = 0
    """Number of the last receive, the fencing token of its lease; 0 = never received."""
    state: State = State.READY
