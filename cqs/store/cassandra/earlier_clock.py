"""The earlier of two clocks, this node's and the store's, for decisions that must not be made too early.

    a node whose clock jumped an hour ahead reads an empty row: "below an hour from now there is nothing"
    all nodes read rows from that mark on, and for an hour nobody sees what is sent

Between two looks at the store's clock, its time is extrapolated by this node's monotonic clock, which no clock step
affects.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime

from cqs.clock import Clock
from cqs.store.cassandra import statements as cql
from cqs.store.cassandra.session import Session

LOOK_S = 1.0


async def store_ms(session: Session) -> int:
    """The time of one coordinator, whichever answers. Raises StoreUnavailable."""
    rows = await session.read(cql.READ_NOW, ())
    moment: datetime = rows[0][0]
    return round(moment.replace(tzinfo=UTC).timestamp() * 1_000)


class EarlierClock:
    """Belongs to one event loop."""

    def __init__(self, session: Session, clock: Clock, now_s: Callable[[], float] = time.monotonic) -> None:
        self._session = session
        self._clock = clock
        self._now_s = now_s
        self._looked_s = float("-inf")
        self._start_ms = 0.0
        """The store's time when this node's monotonic clock began."""

    async def look(self) -> None:
        """Must be awaited before `now_ms`; asks the store at most once every LOOK_S. Raises StoreUnavailable."""
        if self._now_s() - self._looked_s >= LOOK_S:
            told_ms = await store_ms(self._session)
            self._looked_s = self._now_s()
            self._start_ms = told_ms - self._looked_s * 1_000

    def now_ms(self) -> int:
        return min(self._clock.now_ms(), round(self._start_ms + self._now_s() * 1_000))
