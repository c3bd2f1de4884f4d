"""Limits the request rate of each access key; in open mode, where keys prove nothing, of each account called."""

from __future__ import annotations

from cqs.clock import Clock
from cqs.cluster.token_buckets import TokenBuckets
from cqs.errors import RequestThrottled
from cqs.identity import Caller


class Rates:
    """Counts the calls of each access key after its signature was verified, so that nobody can use up another key's
    quota."""

    def __init__(self, clock: Clock, rate: int, burst: int = 0) -> None:
        """`rate` requests per second, `burst` at once; `burst` 0 = as many as `rate`."""
        self._clock = clock
        self._rate = rate
        self._buckets = TokenBuckets(rate, burst or rate)

    def check(self, caller: Caller) -> None:
        """Counts the call. Raises RequestThrottled, which says when to retry."""
        wait_ms = self._buckets.take(caller.key_id or caller.account, self._clock.now_ms())
        if wait_ms:
            raise RequestThrottled(
                f"Rate exceeded: more than {self._rate} requests a second with one access key.", -(-wait_ms // 1_000)
            )
