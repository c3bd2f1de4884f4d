"""Addresses: where a message is stored, and its id.

An address is a 122-bit number. Written as a UUIDv8 it is the message's id:

    121                80 79          60 59      50 49                          0
    ┌────────────────────┬──────────────┬──────────┬─────────────────────────────┐
    │ milliseconds (42)  │ counter (20) │ row (10) │ process incarnation (50)    │
    └────────────────────┴──────────────┴──────────┴─────────────────────────────┘

Addresses of one process always increase, even if its clock steps back. The incarnation is random at each start, so no
two processes and no two starts collide. Any node can delete by address without a lookup (CQS paper, "Cassandra
Component": the column name is time and counter, plus a number of the node).
"""

from __future__ import annotations

import random
import re
from functools import lru_cache

from cqs.clock import Clock

COUNTER_BITS, ROW_BITS, INCARNATION_BITS = 20, 10, 50
ROW_MS = 8
"""How long all sends go to one row: about the time of a commit in a cluster. With 100, messages received together more
often share one delete (a sixth faster at 1,000 messages a second), but a short queue fills fewer rows, and receivers
without a cache to coordinate them collide there: 3.4 % of the messages were duplicated without Redis, 1.1 % with 8."""
_TAIL_BITS = ROW_BITS + INCARNATION_BITS
_MS_SHIFT = COUNTER_BITS + _TAIL_BITS
_TAIL_MASK = (1 << _TAIL_BITS) - 1
_ROW_MASK = (1 << ROW_BITS) - 1
_LOW_MASK = (1 << 62) - 1
_MIDDLE_MASK = (1 << 14) - 1
_PARTS_MAX = 1_024
_TEXT = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")


def pack(key: int, tail: int) -> int:
    """The address of `key` (62 bits: milliseconds and counter) and `tail` (60 bits: row and incarnation)."""
    return key << _TAIL_BITS | tail


def key_of(address: int) -> int:
    """Milliseconds and counter as one 62-bit number: sorts by time, unique within a process."""
    return address >> _TAIL_BITS


def tail_of(address: int) -> int:
    """Row and incarnation as one 60-bit number."""
    return address & _TAIL_MASK


def ms_of(address: int) -> int:
    return address >> _MS_SHIFT


def first_at(ms: int) -> int:
    """The lowest address of that millisecond."""
    return ms << _MS_SHIFT


def row_of(address: int) -> int:
    return address >> INCARNATION_BITS & _ROW_MASK


def text_of(address: int) -> str:
    """The address as a lower-case UUIDv8; texts sort like addresses. Messages of one time share the first third of it,
    those of one row the last, and the counter is low: kept parts take half of the time that formatting takes."""
    return _first(address >> 74) + _middle(address >> 60 & _MIDDLE_MASK) + _last(address & _TAIL_MASK)


@lru_cache(_PARTS_MAX)
def _first(number: int) -> str:
    text = f"{number:012x}"
    return f"{text[:8]}-{text[8:]}-8"


@lru_cache(_PARTS_MAX)
def _middle(number: int) -> str:
    return f"{number >> 2:03x}-{'89ab'[number & 3]}"


@lru_cache(_PARTS_MAX)
def _last(number: int) -> str:
    text = f"{number:015x}"
    return f"{text[:3]}-{text[3:]}"


def parse(text: str) -> int | None:
    """The address whose `text_of` is this text, or None if there is none."""
    if not _TEXT.fullmatch(text):
        return None
    number = int(text.replace("-", ""), 16)
    return number >> 80 << 74 | (number >> 64 & 0xFFF) << 62 | number & _LOW_MASK


class Addresses:
    """Generates this process's addresses. Not thread-safe: belongs to the event loop."""

    def __init__(self, clock: Clock, rng: random.Random) -> None:
        self._clock = clock
        self._rng = rng
        self._incarnation = rng.getrandbits(INCARNATION_BITS)
        self._key = 0
        self._row_seed = self._row_end = 0

    def next(self, rows: int = 1) -> int:
        """A new address, above every earlier one. All addresses within ROW_MS share a random row below `rows`, so that
        a group of sends becomes one write to one partition."""
        key = self._clock.now_ms() << COUNTER_BITS
        if key > self._key:
            if key >= self._row_end:
                self._row_end = key + (ROW_MS << COUNTER_BITS)
                self._row_seed = self._rng.getrandbits(ROW_BITS)
            self._key = key
        else:
            self._key += 1
        return self._key << _TAIL_BITS | (self._row_seed % rows) << INCARNATION_BITS | self._incarnation

    def raise_above(self, address: int) -> None:
        """Makes all later addresses higher than this one (the highest address in the store, at startup)."""
        self._key = max(self._key, key_of(address))
