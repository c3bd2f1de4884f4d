"""The circuit breaker of one Redis server: a pure state machine. With it a dead server costs its own queues a few
microseconds instead of a timeout per call, and the queues on other servers nothing.

    closed ──FAILURES_MAX failures in a row──► open ──after a jittered pause──► half-open: ONE probe
      ▲                                          ▲                                   │
      └───────────── the probe succeeds ─────────┼───────────────────────────────────┤
                                                 └──── the probe fails: pause * 2 ◄──┘
"""

from __future__ import annotations

import random

FAILURES_MAX = 3
PAUSE_MIN_MS, PAUSE_MAX_MS = 200, 5_000


class Breaker:
    """Not thread-safe. Times are given by the caller, in ms of any monotonic clock."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._failures = 0
        self._pause_ms = PAUSE_MIN_MS
        self._closed_again_ms: float | None = None
        self._is_probing = False

    @property
    def is_open(self) -> bool:
        return self._closed_again_ms is not None

    def may_call(self, now_ms: float) -> bool:
        """Whether this call is allowed. When half-open, the first caller is the probe and all others are refused."""
        if self._closed_again_ms is None:
            return True
        if self._is_probing or now_ms < self._closed_again_ms:
            return False
        self._is_probing = True
        return True

    def succeeded(self) -> None:
        self._failures = 0
        self._pause_ms = PAUSE_MIN_MS
        self._closed_again_ms = None
        self._is_probing = False

    def abandoned(self) -> None:
        """The call ended without a result; if it was the probe, the next caller becomes the probe."""
        self._is_probing = False

    def failed(self, now_ms: float) -> None:
        self._failures += 1
        if self._is_probing:
            self._pause_ms = min(self._pause_ms * 2, PAUSE_MAX_MS)
        if self._is_probing or self._failures >= FAILURES_MAX:
            self._is_probing = False
            self._closed_again_ms = now_ms + self._pause_ms * (0.5 + self._rng.random() / 2)
