"""Whether store and cache answer, asked at most once in LOOK_MS however many pages look.

A page waits for the answer for a moment only, and is then told the last one: a store that is slow, or hangs, must not
make the pages hang that would say so.
"""

from __future__ import annotations

import asyncio

from cqs.errors import ServiceUnavailable
from cqs.service.engine import Engine
from cqs.service.statistics import check_health

LOOK_MS = 5_000
WAIT_S, FIRST_WAIT_S = 0.05, 1.0
"""For a new answer; longer while there was none yet."""


class Health:
    """Remembers the last answer. Belongs to one event loop."""

    def __init__(self, engine: Engine, wait_s: float = WAIT_S, first_wait_s: float = FIRST_WAIT_S) -> None:
        self._engine = engine
        self._wait_s, self._first_wait_s = wait_s, first_wait_s
        self._looked_ms = -LOOK_MS
        self._problem = ""
        self._is_known = False
        self._look: asyncio.Task[None] | None = None

    async def problem(self) -> str:
        """What did not answer when it was last asked, "" when all did."""
        now_ms = self._engine.clock.now_ms()
        is_due = not 0 <= now_ms - self._looked_ms < LOOK_MS
        if is_due and (self._look is None or self._look.done()):
            self._looked_ms = now_ms
            self._look = asyncio.create_task(self._find_out(), name="console_health")
        if self._look is not None and not self._look.done():
            await asyncio.wait((self._look,), timeout=self._wait_s if self._is_known else self._first_wait_s)
        return self._problem

    async def end(self) -> None:
        """The server is going down. Idempotent."""
        if self._look is not None:
            self._look.cancel()
            await asyncio.gather(self._look, return_exceptions=True)

    async def _find_out(self) -> None:
        try:
            await check_health(self._engine)
            self._problem = ""
        except ServiceUnavailable as error:
            self._problem = str(error)
        self._is_known = True
