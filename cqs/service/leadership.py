"""Leases for work that one node at a time does for all: move tasks, sweeps, taking over from dead nodes, shared
metrics.

    node A   asks ─────► has it ──────────── counts from BEFORE it asked ──► stops           paused, cut off
    store           └──► lease LEASE_MS ───────────────────────────────────────┴──► free
    node B                            asks: no … no … no                              asks: has it

A measures the lease by its monotonic clock from before the call, so it stops before the store lets B begin, whatever
the wall clocks say. A process suspended in the middle of a step may still finish that step late, so each step is safe
to repeat.
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
    """One lease of this node. `holder` must be unique to this run of it."""

    def __init__(self, coordination: Coordination, name: str, holder: str, now_s: Callable[[], float] = loop_s) -> None:
        self._coordination = coordination
        self._name = name
        self._holder = holder
        self._now_s = now_s
        self._until_s = self._next_s = float("-inf")

    @property
    def now_s(self) -> float:
        """The monotonic clock by which leases are measured."""
        return self._now_s()

    @property
    def is_held(self) -> bool:
        return self._until_s == float("inf") or self._now_s() < self._until_s

    def hold_forever(self) -> Leadership:
        """For a node without peers: the lease never expires."""
        self._until_s = float("inf")
        return self

    async def renew(self) -> None:
        """Takes or renews the lease when it is due. Raises StoreUnavailable, OutcomeUnknown; the current lease then
        lasts until its end."""
        asked_s = self._now_s()
        if asked_s < self._next_s or self._until_s == float("inf"):
            return
        self._next_s = asked_s + RENEW_S
        is_ours = await self._coordination.lead(self._name, self._holder, LEASE_MS)
        self._until_s = asked_s + LEASE_MS / 1_000 if is_ours else float("-inf")

    async def resign(self) -> None:
        """Releases the lease for others, and never takes it again. Raises StoreUnavailable, OutcomeUnknown."""
        is_held, self._until_s, self._next_s = self.is_held, float("-inf"), float("inf")
        if is_held:
            await self._coordination.resign(self._name, self._holder)
