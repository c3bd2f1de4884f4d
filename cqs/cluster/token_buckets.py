"""Token buckets by key: a steady rate, with bursts after pauses. Pure; time is a parameter.

    tokens  burst ┤●●●      ●●            full again at `full_ms`, the only state of a bucket:
                  │   ●●  ●●  ●           tokens = burst - (full_ms - now) / period
                0 ┤     ●●                each token taken adds one period
                  └──────────── time

A full bucket need not be stored. When there are too many, the least recently used one is dropped, which makes it full.
"""

from __future__ import annotations


class TokenBuckets:
    """Allows each key `rate` takes per second, and `burst` at once."""

    def __init__(self, rate: float, burst: int, *, keys_max: int = 100_000) -> None:
        self._period_ms = 1_000.0 / rate
        self._span_ms = self._period_ms * max(burst, 1)
        self._keys_max = keys_max
        self._full_ms: dict[str, float] = {}

    def __len__(self) -> int:
        return len(self._full_ms)

    def take(self, key: str, now_ms: int) -> int:
        """0: a token was taken. Otherwise the milliseconds until one is available, at least 1; nothing was taken. After
        the clock is set back, nobody waits for longer than with an empty bucket."""
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
"""The rounding error of summed periods; far less than any wait."""
