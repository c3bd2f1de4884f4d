"""How often one access key may call. In open mode, where keys prove nothing, how often an account is called for."""

from __future__ import annotations

from cqs.clock import Clock
from cqs.cluster.token_buckets import TokenBuckets
from cqs.errors import RequestThrottled
from cqs.identity import Caller


class Rates:
    """Counts the calls of each access key, after its signature was checked: nobody uses up another's share."""

    def __init__(self, clock: Clock, rate: int, burst: int = 0) -> None:
        """`rate` requests a second, `burst` at once; burst 0 = those of a second."""
        self._clock = clock
        self._rate = rate
        self._buckets = TokenBuckets(rate, burst or rate)

    def check(self, caller: Caller) -> None:
        """Counts the call. Raises RequestThrottled, which says when to come again."""
        wait_ms = self._buckets.take(caller.key_id or caller.account, self._clock.now_ms())
        if wait_ms:
            raise RequestThrottled(
                f"Rate exceeded: more than {self._rate} requests a second with one access key.", -(-wait_ms // 1_000)
            )
