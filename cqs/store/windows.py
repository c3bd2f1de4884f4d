"""Deduplication windows as data: see `cqs.store.claims`."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

Key = tuple[int, str, str]
"""Storage id (a purge ends all windows, as on SQS), scope, deduplication id."""


class Held(msgspec.Struct, frozen=True, gc=False):
    """A window: the first send's message, and when repeats stop being repeats."""

    address: int
    sequence: int
    expires_ms: int


class Expired(NamedTuple):
    """Windows that ended, by their first message, and the last sequence of each of their queues: what is left to be
    remembered of them."""

    addresses: list[int]
    sequences: dict[int, int]
