"""Caches the last answer to a question that may never be answered: it is asked at most once per LOOK_MS, however many
pages need it.

A page waits for the answer only briefly, and then gets the last one: a slow or hanging store must not block the very
pages that would report it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

from cqs.clock import Clock

LOOK_MS = 5_000
WAIT_S, FIRST_WAIT_S = 0.05, 1.0
"""How long to wait for a new answer; longer before the first one."""
T = TypeVar("T")


class Latest(Generic[T]):
    """`find_out` raises nothing; `known`: the last answer, or its initial substitute. Belongs to one event loop."""

    def __init__(
        self,
        find_out: Callable[[], Awaitable[T]],
        clock: Clock,
        known: T,
        wait_s: float = WAIT_S,
        first_wait_s: float = FIRST_WAIT_S,
    ) -> None:
        self._find_out = find_out
        self._clock = clock
        self._wait_s, self._first_wait_s = wait_s, first_wait_s
        self._looked_ms = -LOOK_MS
        self._is_known = False
        self._look: asyncio.Task[None] | None = None
        self.known = known

    async def answer(self) -> T:
        """A new answer, if one is due and arrives soon; else the last one."""
        now_ms = self._clock.now_ms()
        is_due = not 0 <= now_ms - self._looked_ms < LOOK_MS
        if is_due and (self._look is None or self._look.done()):
            self._looked_ms = now_ms
            self._look = asyncio.create_task(self._learn(), name="console_latest")
        if self._look is not None and not self._look.done():
            await asyncio.wait((self._look,), timeout=self._wait_s if self._is_known else self._first_wait_s)
        return self.known

    async def end(self) -> None:
        """Called when the server stops. Idempotent."""
        if self._look is not None:
            self._look.cancel()
            await asyncio.gather(self._look, return_exceptions=True)

    async def _learn(self) -> None:
        self.known = await self._find_out()
        self._is_known = True
