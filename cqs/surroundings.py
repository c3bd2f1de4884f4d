"""Whether what a server stands on is in order, looked at every few seconds: for /ready and for the log.

    fatal      nothing can be served: /ready answers 503                    the data file vanished
    troubles   served with less: /ready answers 200, `degraded`, and why    a full disk, a Redis that is away, unfit or
                                                                            persistent, clocks that differ

Each trouble is logged once when it comes and once when it goes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import structlog

from cqs.backends import CacheServers, folder_of
from cqs.clock import Clock
from cqs.config import Config
from cqs.errors import CqsError
from cqs.service.membership import LIFE_MS, Membership
from cqs.store.interface import Store
from cqs.store.sqlite.health import trouble
from cqs.store.sqlite.schema import FILE_NAME
from cqs.store.sqlite.store import SqliteStore

LOOK_S = 2.0
CLOCKS_APART_MS = 2_000
"""Beyond what the age of a beat explains."""
_log = structlog.get_logger("cqs.surroundings")


class Surroundings:
    """Belongs to the event loop; as of the last look."""

    def __init__(self, config: Config, store: Store, cache: CacheServers, membership: Membership, clock: Clock) -> None:
        self._file = folder_of(config.storage) / FILE_NAME
        self._store = store
        self._cache = cache
        self._membership = membership
        self._clock = clock
        self.fatal = ""
        self.troubles: tuple[str, ...] = ()

    async def run(self) -> None:
        """For ever."""
        while True:
            await self.look()
            await asyncio.sleep(LOOK_S)

    async def look(self) -> None:
        """One look. What does not answer is a trouble, never an error."""
        found = [*await self._redis(), *clocks_apart(self._membership, self._clock.now_ms())]
        if problem := self._membership.clock_problem():
            found.append(problem)
        self.fatal = ""
        if isinstance(self._store, SqliteStore):
            try:
                text, is_fatal = trouble(self._file, self._store.hands.writer)
            except (OSError, CqsError) as error:
                text, is_fatal = str(error), True
            if is_fatal:
                self.fatal = text
            if text:
                found.insert(0, text)
        for one in found:
            if one not in self.troubles:
                _log.warning("trouble", reason=one)
        for one in self.troubles:
            if one not in found:
                _log.info("trouble_over", reason=one)
        self.troubles = tuple(found)

    async def _redis(self) -> list[str]:
        reports = await self._cache.reports()
        return [f"Redis {name}: {problem}" for name, report in reports.items() for problem in report.problems]


def clocks_apart(membership: Membership, now_ms: int) -> Iterator[str]:
    """Nodes whose clock is not this one's: a living node's beat is from the last LIFE_MS."""
    for node in membership.others:
        ahead_ms = node.beat_ms - now_ms
        if ahead_ms > CLOCKS_APART_MS or ahead_ms < -LIFE_MS - CLOCKS_APART_MS:
            side = "ahead of" if ahead_ms > 0 else "behind"
            yield f"The clock of node {node.name} is about {round(abs(ahead_ms) / 1_000)} s {side} this one's."
