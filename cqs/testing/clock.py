"""A clock that moves only when told to, so that tests of timing rules neither sleep nor depend on the machine."""

from __future__ import annotations

_START_MS = 1_790_000_000_000
"""September 2026; a fixed start keeps a test's addresses and receive numbers the same in every run."""


class ManualClock:
    """A `cqs.clock.Clock`. Its time is set by `set_ms` and `advance_ms`; it may go back, as a real one can."""

    __slots__ = ("_now_ms",)

    def __init__(self, now_ms: int = _START_MS) -> None:
        self._now_ms = now_ms

    def now_ms(self) -> int:
        return self._now_ms

    def set_ms(self, now_ms: int) -> None:
        self._now_ms = now_ms

    def advance_ms(self, by_ms: int) -> None:
        self._now_ms += by_ms
