"""Whether store and cache respond, queried through `Latest`."""

from __future__ import annotations

from admin.latest import FIRST_WAIT_S, WAIT_S, Latest
from cqs.errors import ServiceUnavailable
from cqs.service.engine import Engine
from cqs.service.statistics import check_health


class Health:
    """Belongs to one event loop."""

    def __init__(self, engine: Engine, wait_s: float = WAIT_S, first_wait_s: float = FIRST_WAIT_S) -> None:
        self._engine = engine
        self._latest = Latest(self._find_out, engine.clock, "", wait_s, first_wait_s)

    async def problem(self) -> str:
        """What did not respond at the last check, "" if everything did."""
        return await self._latest.answer()

    async def end(self) -> None:
        """Called when the server stops. Idempotent."""
        await self._latest.end()

    async def _find_out(self) -> str:
        try:
            await check_health(self._engine)
        except ServiceUnavailable as error:
            return str(error)
        return ""
