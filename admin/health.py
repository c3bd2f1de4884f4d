"""Whether store and cache answer, asked at most once in LOOK_MS however many pages look."""

from __future__ import annotations

from cqs.errors import ServiceUnavailable
from cqs.service.engine import Engine
from cqs.service.statistics import check_health

LOOK_MS = 5_000


class Health:
    """Remembers the last answer."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._looked_ms = -LOOK_MS
        self._problem = ""

    async def problem(self) -> str:
        """What does not answer, "" when all does."""
        now_ms = self._engine.clock.now_ms()
        if not 0 <= now_ms - self._looked_ms < LOOK_MS:
            self._looked_ms = now_ms
            try:
                await check_health(self._engine)
                self._problem = ""
            except ServiceUnavailable as error:
                self._problem = str(error)
        return self._problem
