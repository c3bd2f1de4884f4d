"""Deduplication windows as data: see `cqs.store.claims`."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

Key = tuple[int, str, str]
"""Storage id (a purge ends all windows, as in SQS), scope, deduplication id."""


class Held(msgspec.Struct, frozen=True, gc=False):
    """A window: the message of the first send, and when repeats are no longer treated as duplicates."""

    address: int
    sequence: int
    expires_ms: int


class Expired(NamedTuple):
    """Expired windows, by their first message, and the last sequence of each of their queues that still exists, which
    must be remembered."""

    addresses: list[int]
    sequences: dict[int, int]
