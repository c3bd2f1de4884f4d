"""The last answer to a question whose answer may not come: asked anew at most once in LOOK_MS, however many pages look.

A page waits for the answer for a moment only, and is then told the last one: a store that is slow, or hangs, must not
make the pages hang that would say so.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

from cqs.clock import Clock

LOOK_MS = 5_000
WAIT_S, FIRST_WAIT_S = 0.05, 1.0
"""For a new answer; longer while there was none yet."""
T = TypeVar("T")


class Latest(Generic[T]):
    """`find_out` raises nothing; `known`: the last answer, or what stands for it until there is one. Belongs to one
    event loop."""

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
        """A new one, if one is due and comes soon."""
        now_ms = self._clock.now_ms()
        is_due = not 0 <= now_ms - self._looked_ms < LOOK_MS
        if is_due and (self._look is None or self._look.done()):
            self._looked_ms = now_ms
            self._look = asyncio.create_task(self._learn(), name="console_latest")
        if self._look is not None and not self._look.done():
            await asyncio.wait((self._look,), timeout=self._wait_s if self._is_known else self._first_wait_s)
        return self.known

    async def end(self) -> None:
        """The server is going down. Idempotent."""
        if self._look is not None:
            self._look.cancel()
            await asyncio.gather(self._look, return_exceptions=True)

    async def _learn(self) -> None:
        self.known = await self._find_out()
        self._is_known = True
