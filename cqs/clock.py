"""Where time comes from. Nothing else in the package reads a clock, so that every rule that depends on time
(visibility, retention, deduplication, the 60-second waits) runs under a simulated one in tests."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """Wall-clock milliseconds since the epoch. May step; callers that need order keep their own maximum."""

    def now_ms(self) -> int: ...


class SystemClock:
    """The machine's clock."""

    __slots__ = ()

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000
