"""The store's connections and the threads that own them: one that writes, one that reads."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypeVar, cast

from cqs.message import Message
from cqs.store.group_commit import GroupCommit
from cqs.store.sqlite.ballast import Ballast
from cqs.store.sqlite.failures import code_of
from cqs.store.sqlite.jobs import WORK_PAGES, Job, Work
from cqs.store.sqlite.reader import Query, ReadBodies, Reader, ReadJob
from cqs.store.sqlite.schema import connect
from cqs.store.sqlite.writer import Writer

READS_MAX = 32
READ_WEIGHT = 256 << 10
"""What a body counts before its size is known: at most 64 are read, and in memory, at once."""
READS_PENDING_WEIGHT_MAX = 1 << 30

T = TypeVar("T")


class Threads:
    """Open from construction (which may raise sqlite3.Error) to `close`."""

    def __init__(self, file: Path, prepare: Callable[[sqlite3.Connection], None]) -> None:
        """`prepare` is called with the writing connection before anything else; what it raises is raised."""
        self._connections: list[sqlite3.Connection] = []
        try:
            self._connections.append(_connect_first(file))
            prepare(self._connections[0])
            self._connections += [connect(file), connect(file)]
        except BaseException:
            self._close_connections()
            raise
        writing, reading, self.copying = self._connections
        self.writer = Writer(writing, file)
        self.commits: GroupCommit[Job, object] = GroupCommit(self.writer.run, name="cqs-writer")
        self.reads: GroupCommit[ReadJob, object] = GroupCommit(
            Reader(reading, file).run,
            name="cqs-reader",
            jobs_max=READS_MAX,
            pending_weight_max=READS_PENDING_WEIGHT_MAX,
        )

    def start(self) -> None:
        self.commits.start()
        self.reads.start()

    async def close(self) -> None:
        """Finishes what was accepted. Idempotent."""
        await self.commits.close()
        await self.reads.close()
        await asyncio.to_thread(self._close_connections)

    def _close_connections(self) -> None:
        for connection in reversed(self._connections):
            with suppress(sqlite3.Error):
                connection.close()

    async def write(self, run: Callable[[sqlite3.Connection], T], wal_pages: int = WORK_PAGES) -> T:
        """`run` in a commit of the writer's thread; it writes about `wal_pages` pages."""
        return cast(T, await self.commits.submit(Work(run, wal_pages)))

    async def read(self, run: Callable[[sqlite3.Connection], T]) -> T:
        """`run` in the reader's thread."""
        return cast(T, await self.reads.submit(Query(run)))

    async def read_messages(self, storage_id: int, addresses: Sequence[int]) -> list[Message]:
        return cast(
            "list[Message]", await self.reads.submit(ReadBodies(storage_id, addresses), READ_WEIGHT * len(addresses))
        )


def _connect_first(file: Path) -> sqlite3.Connection:
    """Even on a full disk, where the space of the ballast is taken for it."""
    try:
        return connect(file)
    except sqlite3.Error as error:
        if code_of(error) not in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR) or not Ballast(file.parent).give_up():
            raise
        return connect(file)
