"""Checks every few seconds whether all that a server depends on is in order, for /ready, the console and the log.

    fatal      nothing can be served: /ready answers 503                    the data file vanished, Cassandra is cut off
                                                                            another node has this one's name
    troubles   degraded service: /ready answers 200, `degraded`, and why    a full disk, a Redis that is away, unfit or
               the console shows them                                       persistent, clocks that differ, lost beats,
                                                                            a journal that can't be written

Each trouble is logged once when it begins and once when it ends, even if numbers in its text change meanwhile.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from typing import NamedTuple

import structlog

from cqs.backends import CacheServers, folder_of
from cqs.config import Config
from cqs.errors import CqsError
from cqs.journal.journal import Journal
from cqs.service.membership import Membership
from cqs.store.interface import Store
from cqs.store.sqlite.health import trouble
from cqs.store.sqlite.schema import FILE_NAME
from cqs.store.sqlite.store import SqliteStore

LOOK_S = 2.0
CLOCKS_APART_MS = 2_000
"""More than delayed beats can explain."""
_NUMBERS = re.compile(r"\d+(\.\d+)?")
_log = structlog.get_logger("cqs.surroundings")


class Trouble(NamedTuple):
    """What is not in order, as a sentence; two with the same kind are the same trouble."""

    kind: str
    text: str


def trouble_of(subject: str, text: str) -> Trouble:
    """A trouble whose kind is its subject and text, without numbers."""
    return Trouble(f"{subject}: {_NUMBERS.sub('#', text)}", text)


class Surroundings:
    """Belongs to the event loop; shows the state of the last check."""

    def __init__(
        self,
        config: Config,
        store: Store,
        cache: CacheServers,
        membership: Membership,
        journal: Journal | None = None,
    ) -> None:
        self._file = folder_of(config.storage) / FILE_NAME
        self._store = store
        self._cache = cache
        self._membership = membership
        self._journal = journal
        self.fatal = ""
        self._troubles: dict[str, Trouble] = {}

    @property
    def troubles(self) -> tuple[str, ...]:
        """As sentences."""
        return tuple(one.text for one in self._troubles.values())

    async def run(self) -> None:
        """Checks for ever."""
        while True:
            await self.look()
            await asyncio.sleep(LOOK_S)

    async def look(self) -> None:
        """Checks once. Whatever does not answer is a trouble, never an error."""
        found = [*await self._redis(), *clocks_apart(self._membership)]
        if self._journal is not None and self._journal.trouble:
            found.append(trouble_of("journal", self._journal.trouble))
        if problem := self._membership.clock_problem():
            found.append(Trouble("clock", problem))
        self.fatal = self._membership.name_problem()
        if problem := self.fatal or self._membership.name_trouble():
            found.append(Trouble("name", problem))
        if problem := self._membership.store_problem:
            text = f"The store is unreachable: sends and receives may fail. {problem}"
            if self._membership.is_cut_off:
                text = self.fatal = f"The store is unreachable: nothing is served. {problem}"
            found.append(Trouble("store", text))
        if isinstance(self._store, SqliteStore):
            try:
                text, is_fatal = trouble(self._file, self._store.hands)
            except (OSError, CqsError) as error:
                text, is_fatal = str(error), True
            if is_fatal:
                self.fatal = text
            if text:
                found.insert(0, trouble_of("file", text))
        self._tell({one.kind: one for one in found})

    def _tell(self, found: dict[str, Trouble]) -> None:
        before, self._troubles = self._troubles, found
        for kind, one in found.items():
            if kind not in before:
                _log.warning("trouble", reason=one.text)
        for kind, one in before.items():
            if kind not in found:
                _log.info("trouble_over", reason=one.text)

    async def _redis(self) -> list[Trouble]:
        reports = await self._cache.reports()
        return [
            trouble_of(f"Redis {name}", f"Redis {name}: {problem}")
            for name, report in reports.items()
            for problem in report.problems
        ]


def clocks_apart(membership: Membership) -> Iterator[Trouble]:
    """Nodes whose beats prove that their clocks differ from this one's."""
    for node in membership.others:
        off_ms = membership.clocks.off_ms(node.name)
        if abs(off_ms) > CLOCKS_APART_MS:
            side = "ahead of" if off_ms > 0 else "behind"
            text = f"The clock of node {node.name} is at least {abs(off_ms) // 1_000} s {side} this one's."
            yield Trouble(f"clock of {node.name}", text)
