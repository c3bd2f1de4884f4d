"""Request IDs: one in every reply, for finding the request in the log."""

from __future__ import annotations

import random

_COUNTER_BITS = 48


class RequestIds:
    """In the form of a UUID: the first part is random per process, the last part is a counter."""

    __slots__ = ("_count", "_start")

    def __init__(self, rng: random.Random) -> None:
        number = rng.getrandbits(80)
        self._start = (
            f"{number >> 48:08x}-{number >> 32 & 0xFFFF:04x}-{number >> 16 & 0xFFFF:04x}-{number & 0xFFFF:04x}-"
        )
        self._count = rng.getrandbits(_COUNTER_BITS - 8)

    def next(self) -> str:
        self._count += 1
        return f"{self._start}{self._count:012x}"
