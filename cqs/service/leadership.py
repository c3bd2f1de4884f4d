"""What one node at a time does for all: move tasks, sweeps, taking over from the dead, telling of what all share.

    node A   asks ─────► has it ──────────── counts from BEFORE it asked ──► stops           paused, cut off
    store           └──► lease LEASE_MS ───────────────────────────────────────┴──► free
    node B                            asks: no … no … no                              asks: has it

A counts by its monotonic clock from before the call, so it stops before the store lets B begin, whatever wall clocks
say. A process that is stopped in the midst of a step may still end that one step late; each step is therefore safe to
do twice.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from cqs.store.coordination import Coordination

LEASE_MS = 10_000
RENEW_S = 3.0


def loop_s() -> float:
    """The event loop's monotonic clock."""
    return asyncio.get_running_loop().time()


class Leadership:
    """One lease of this node. `holder` must be this life's alone."""

    def __init__(self, coordination: Coordination, name: str, holder: str, now_s: Callable[[], float] = loop_s) -> None:
        self._coordination = coordination
        self._name = name
        self._holder = holder
        self._now_s = now_s
        self._until_s = self._next_s = float("-inf")

    @property
    def now_s(self) -> float:
        """The monotonic clock that leases are counted by."""
        return self._now_s()

    @property
    def is_held(self) -> bool:
        return self._until_s == float("inf") or self._now_s() < self._until_s

    def hold_forever(self) -> Leadership:
        """There are no other nodes, and never will be."""
        self._until_s = float("inf")
        return self

    async def renew(self) -> None:
        """Takes or renews the lease, when it is time to. Raises StoreUnavailable, OutcomeUnknown; it then runs on to
        its end."""
        asked_s = self._now_s()
        if asked_s < self._next_s or self._until_s == float("inf"):
            return
        self._next_s = asked_s + RENEW_S
        is_ours = await self._coordination.lead(self._name, self._holder, LEASE_MS)
        self._until_s = asked_s + LEASE_MS / 1_000 if is_ours else float("-inf")

    async def resign(self) -> None:
        """Others may have it at once, and this node never again. Raises StoreUnavailable, OutcomeUnknown."""
        is_held, self._until_s, self._next_s = self.is_held, float("-inf"), float("inf")
        if is_held:
            await self._coordination.resign(self._name, self._holder)
