"""Token buckets by key: a steady rate, and a burst after a pause. Pure; time is a parameter.

    tokens  burst ┤●●●      ●●            full again at `full_ms`, which is all that is kept of a bucket:
                  │   ●●  ●●  ●           tokens = burst - (full_ms - now) / period
                0 ┤     ●●                a token more costs one period
                  └──────────── time

A bucket that is full need not be kept. When there are too many, the one unused for longest is forgotten, that is: full.
"""

from __future__ import annotations


class TokenBuckets:
    """At most `rate` takes a second of each key, and `burst` at once."""

    def __init__(self, rate: float, burst: int, *, keys_max: int = 100_000) -> None:
        self._period_ms = 1_000.0 / rate
        self._span_ms = self._period_ms * max(burst, 1)
        self._keys_max = keys_max
        self._full_ms: dict[str, float] = {}

    def __len__(self) -> int:
        return len(self._full_ms)

    def take(self, key: str, now_ms: int) -> int:
        """0: a token was taken. Else the milliseconds until there is one, at least 1; nothing was taken then.

        A clock that was set back makes nobody wait for longer than an empty bucket does."""
        full_ms = self._full_ms.pop(key, 0.0)
        full_ms = min(max(full_ms, now_ms), now_ms + self._span_ms) + self._period_ms
        wait_ms = full_ms - now_ms - self._span_ms
        if wait_ms > _ROUNDING_MS:
            self._full_ms[key] = full_ms - self._period_ms
            return max(1, -int(-wait_ms // 1))
        if len(self._full_ms) >= self._keys_max:
            del self._full_ms[next(iter(self._full_ms))]
        self._full_ms[key] = full_ms
        return 0


_ROUNDING_MS = 1e-3
"""What sums of periods may be off; far less than any wait."""
