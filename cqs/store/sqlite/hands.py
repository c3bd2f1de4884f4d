"""The store's workers beside the event loop, each with its own connection: one writes, one reads."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Protocol, TypeVar, cast

from cqs.message import Message
from cqs.store.group_commit import GroupCommit, Hand
from cqs.store.hand_thread import HandThread
from cqs.store.interface import Move
from cqs.store.sqlite.ballast import Ballast
from cqs.store.sqlite.failures import code_of
from cqs.store.sqlite.jobs import WORK_PAGES, Job, Relocate, Work
from cqs.store.sqlite.reader import Query, ReadBodies, Reader, ReadJob
from cqs.store.sqlite.schema import connect
from cqs.store.sqlite.writer import Writer
from cqs.store.sqlite.writer_process import WriterProcess

READS_MAX = 32
READ_WEIGHT = 256 << 10
"""The weight of a body until its size is known: at most 64 are read, and in memory, at once."""
READS_PENDING_WEIGHT_MAX = 1 << 30

T = TypeVar("T")


class WriterState(Protocol):
    """The writer's state after its last commit. Any thread may read it."""

    @property
    def wal_pages(self) -> int:
        """Roughly how many pages were written to the WAL since it last started over."""

    @property
    def is_ballast_spent(self) -> bool:
        """The disk was full, and is not known to have space again."""

    @property
    def failing(self) -> str:
        """Why the last write failed; "" = it did not."""

    def is_gone(self) -> bool:
        """Whether the opened file is no longer at its path (deleted or replaced)."""


class Hands:
    """Connected from construction (which may raise sqlite3.Error) to `close`."""

    def __init__(self, file: Path, prepare: Callable[[sqlite3.Connection], None], lock: int | None = None) -> None:
        """`prepare` is called first, with the first connection; it may raise. `lock`: the data directory's lock, for a
        writer that is a process; None = a thread."""
        self._connections: list[sqlite3.Connection] = []
        try:
            self._connections.append(_connect_first(file))
            prepare(self._connections[0])
            self._connections += [connect(file), connect(file)]
        except BaseException:
            self._close_connections()
            raise
        first, reading, self.copying = self._connections
        self.writer: WriterState
        writing: Hand[Job, object]
        if lock is None:
            self.writer = writer = Writer(first, file)
            writing = HandThread(writer.run, name="cqs-writer")
        else:
            self._connections.remove(first)
            first.close()
            self.writer = writing = WriterProcess(file, lock)
        self.commits: GroupCommit[Job, object] = GroupCommit(writing)
        self.reads: GroupCommit[ReadJob, object] = GroupCommit(
            HandThread(Reader(reading, file).run, name="cqs-reader"),
            jobs_max=READS_MAX,
            pending_weight_max=READS_PENDING_WEIGHT_MAX,
        )

    async def open(self) -> None:
        """Raises StoreUnavailable when the writer can't start."""
        await self.commits.open()
        await self.reads.open()

    async def close(self) -> None:
        """Completes accepted jobs. Idempotent."""
        await self.commits.close()
        await self.reads.close()
        await asyncio.to_thread(self._close_connections)

    def _close_connections(self) -> None:
        for connection in reversed(self._connections):
            with suppress(sqlite3.Error):
                connection.close()

    async def write(self, run: Callable[[sqlite3.Connection], T], wal_pages: int = WORK_PAGES) -> T:
        """Runs `run` in a commit of the writer; it writes about `wal_pages` pages."""
        return cast(T, await self.commits.submit(Work(run, wal_pages)))

    async def move(self, source_id: int, target_id: int, moves: Sequence[Move]) -> list[Message]:
        """Returns those of `moves` that are in the target afterwards. Raises OutcomeUnknown."""
        weight = sum(move.message.weight for move in moves)
        return cast("list[Message]", await self.commits.submit(Relocate(source_id, target_id, moves), weight))

    async def read(self, run: Callable[[sqlite3.Connection], T]) -> T:
        """Runs `run` in the reader's thread."""
        return cast(T, await self.reads.submit(Query(run)))

    async def read_messages(self, storage_id: int, addresses: Sequence[int]) -> list[Message]:
        return cast(
            "list[Message]", await self.reads.submit(ReadBodies(storage_id, addresses), READ_WEIGHT * len(addresses))
        )


def _connect_first(file: Path) -> sqlite3.Connection:
    """Works even on a full disk, by giving up the ballast's space."""
    try:
        return connect(file)
    except sqlite3.Error as error:
        if code_of(error) not in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR) or not Ballast(file.parent).give_up():
            raise
        return connect(file)
