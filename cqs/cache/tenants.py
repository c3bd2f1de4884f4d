"""Fair queues: which tenant is noisy (sqs.md A6). Pure: numbers in, a verdict out.

A tenant is a message group of a standard queue. It is noisy while it has messages waiting, sent some recently, and

    has > 10 % of the messages in flight and at least 30 of them,   or
    used > 10 % of the processing time of the last five minutes, and more than a trivial amount.

Processing time is the integral over time of the number in flight, so it needs no record per message. "The last five
minutes" are approximated by two windows; the earlier one is weighted by the part of it within those five minutes:

        earlier window        current window
    ├──────────────────────┼─────────────┤ now
              └── 5 min before now
"""

from __future__ import annotations

NOISY_SHARE = 0.1
NOISY_IN_FLIGHT_MIN = 30
NOISY_BUSY_MS_MIN = 60_000
"""Processing time (message-milliseconds) below which no tenant is noisy."""
WINDOW_MS = 300_000


class BusyMeter:
    """Counts the messages in flight and the processing time they have used."""

    __slots__ = ("_busy_ms", "_earlier_ms", "_since_ms", "_window", "in_flight")

    def __init__(self, in_flight: int, now_ms: int) -> None:
        self.in_flight = in_flight
        self._since_ms = now_ms
        self._window = now_ms // WINDOW_MS
        self._busy_ms = 0
        self._earlier_ms = 0

    def change(self, by: int, now_ms: int) -> None:
        """From now on, `by` more (if negative, fewer) messages are in flight."""
        self._settle(now_ms)
        self.in_flight += by

    def busy_ms(self, now_ms: int) -> float:
        """Processing time of the last five minutes."""
        self._settle(now_ms)
        past = min(1.0, max(0.0, now_ms / WINDOW_MS - self._window))
        return self._busy_ms + self._earlier_ms * (1.0 - past)

    def _settle(self, now_ms: int) -> None:
        window = now_ms // WINDOW_MS
        if window > self._window:
            start_ms = window * WINDOW_MS
            if window == self._window + 1:
                self._earlier_ms = self._busy_ms + self.in_flight * (start_ms - self._since_ms)
            else:
                self._earlier_ms = self.in_flight * WINDOW_MS
            self._busy_ms, self._since_ms, self._window = 0, start_ms, window
        if now_ms > self._since_ms:
            self._busy_ms += self.in_flight * (now_ms - self._since_ms)
            self._since_ms = now_ms


def is_noisy(own: BusyMeter, total: BusyMeter, *, backlog: int, last_send_ms: int, now_ms: int) -> bool:
    """Whether the tenant with meter `own` and `backlog` ready messages is noisy in a queue with meter `total`."""
    if backlog == 0 or now_ms - last_send_ms >= WINDOW_MS:
        return False
    if own.in_flight >= NOISY_IN_FLIGHT_MIN and own.in_flight > NOISY_SHARE * total.in_flight:
        return True
    busy_ms = own.busy_ms(now_ms)
    return busy_ms > NOISY_BUSY_MS_MIN and busy_ms > NOISY_SHARE * total.busy_ms(now_ms)
