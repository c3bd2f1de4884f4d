"""Logs failed requests at a limited rate: enough lines to diagnose the problem. While the store is unavailable or its
disk is full, every request fails; a log line for each would fill the rest of the disk and slow down the requests that
succeed."""

from __future__ import annotations

from collections import Counter

import structlog

from cqs.clock import Clock
from cqs.cluster.token_buckets import TokenBuckets

LINES_A_SECOND = 10
"""Of each kind of failure."""
_log = structlog.get_logger("cqs.api")


class FailureLog:
    """Belongs to one event loop."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lines = TokenBuckets(LINES_A_SECOND, LINES_A_SECOND)
        self._untold: Counter[str] = Counter()

    def tell(self, error: Exception, request_id: str, action: str) -> None:
        """Logs the failure with its traceback, and how many of its kind were suppressed before it."""
        kind = type(error).__name__
        if self._lines.take(kind, self._clock.now_ms()):
            self._untold[kind] += 1
            return
        untold = self._untold.pop(kind, 0)
        more = {"untold": untold} if untold else {}
        _log.error("request_failed", request_id=request_id, action=action, exc_info=error, **more)
