"""The source of time. Nothing else in the package reads a clock, so that tests can run every rule that depends on time
(visibility, retention, deduplication, the 60-second waits) under a simulated one."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """Wall-clock milliseconds since the epoch. May jump; callers that need monotonic values keep their own maximum."""

    def now_ms(self) -> int: ...


class SystemClock:
    """The machine's clock."""

    __slots__ = ()

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000
