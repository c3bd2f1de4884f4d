"""API calls: their number, results and durations."""

from __future__ import annotations

from collections import Counter

from cqs.metrics.declarations import REQUEST_SECONDS
from cqs.metrics.histogram import Histogram

ACTIONS_MAX = 64
OK = "ok"
UNREADABLE = "none"
"""The action of a request that named none, or one that does not exist."""


class CallStats:
    """The calls of one action."""

    __slots__ = ("duration", "failures", "ok")

    def __init__(self) -> None:
        self.ok = 0
        self.failures: Counter[str] = Counter()
        """By the error's query code."""
        self.duration = Histogram.of(REQUEST_SECONDS)


class Calls:
    """Calls by action. Codes come from the error table and actions from the table of operations, so both are few."""

    def __init__(self) -> None:
        self.by_action: dict[str, CallStats] = {}

    def record(self, action: str, code: str, took_ns: int) -> None:
        """Counts one answered call; `action` "" = unknown, `code` "" = success."""
        stats = self.by_action.get(action or UNREADABLE) or self._new(action or UNREADABLE)
        if code:
            stats.failures[code] += 1
        else:
            stats.ok += 1
        stats.duration.observe(took_ns)

    def totals(self) -> tuple[int, int]:
        """Number of calls, and how many of them failed."""
        failed = sum(sum(stats.failures.values()) for stats in self.by_action.values())
        return failed + sum(stats.ok for stats in self.by_action.values()), failed

    def _new(self, action: str) -> CallStats:
        assert len(self.by_action) < ACTIONS_MAX, f"{action} is no action"
        stats = self.by_action[action] = CallStats()
        return stats
