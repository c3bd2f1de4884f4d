"""Maintains the file in the background, in small steps, so that no caller waits long for any of it.

    WAL      grows with each commit. At WAL_PAGES_MAX pages the checkpoint thread copies them into the file beside the
             writer; then, between two commits, the writer copies the few added meanwhile, and the WAL starts over. (No
             other thread can finish a checkpoint while a writer never pauses.)
    garbage  messages of purged and deleted queues; found by walking the table in steps, deleted GARBAGE_BATCH a commit
    space    when a quarter of the file, and at least FREE_PAGES_MIN, is free pages, they are returned to the disk,
             VACUUM_PAGES a commit, down to half of that

A failing step (disk full) is logged and retried after RETRY_S. Work unfinished at a stop is found again at the next
start.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial

import structlog

from cqs.errors import CqsError
from cqs.store.sqlite import sql
from cqs.store.sqlite.claims import delete_claims, delete_gone_sequences
from cqs.store.sqlite.hands import Hands
from cqs.store.sqlite.jobs import Checkpoint, Trim
from cqs.store.sqlite.reader import end_of_step

WAL_PAGES_MAX = 4_000
GARBAGE_BATCH = 256
GARBAGE_QUEUES_MAX = 64
FREE_PAGES_MIN = 2_048
FREE_PART = 4
VACUUM_PAGES = 128
RETRY_S = 5.0

_log = structlog.get_logger("cqs.store")


class Upkeep:
    """One task of the event loop between `start` and `stop`; woken by `commit_done` and `sweep`."""

    def __init__(self, hands: Hands) -> None:
        self._hands = hands
        self._writer = hands.writer
        self._thread = ThreadPoolExecutor(1, "cqs-checkpoint")
        self._garbage: set[int] = set()
        self._gone_claims: Sequence[int] = ()
        self._free_to_leave: int | None = None
        self._wake = asyncio.Event()
        self._rest = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def start(self, garbage: Collection[int], gone_claims: Sequence[int]) -> None:
        """`garbage` are storage ids found at start, `gone_claims` ids of claims whose queues are gone."""
        self._garbage.update(garbage)
        self._gone_claims = gone_claims
        self._task = asyncio.get_running_loop().create_task(self._run(), name="cqs-upkeep")

    async def stop(self) -> None:
        """Leaves unfinished work to the next start. Idempotent."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
            self._task = None
        await asyncio.to_thread(self._thread.shutdown)

    def commit_done(self, jobs: int, waited_ns: int, took_ns: int) -> None:
        """An observer of the group commit."""
        if self._writer.wal_pages >= WAL_PAGES_MAX and not self._wake.is_set():
            self._rest.clear()
            self._wake.set()

    def sweep(self, storage_ids: Sequence[int]) -> None:
        """Messages of these storage ids are garbage."""
        if storage_ids:
            self._garbage.update(storage_ids)
            self._rest.clear()
            self._wake.set()

    async def rest(self) -> None:
        """Returns when no work is left."""
        await self._rest.wait()

    async def _run(self) -> None:
        is_first = True
        while True:
            try:
                if is_first:
                    await self._checkpoint()
                    await self._delete_leftovers()
                    is_first = False
                await self._once()
            except Exception as error:  # Also no thread or memory: without upkeep the WAL grows for ever.
                is_known = isinstance(error, CqsError | sqlite3.Error)
                _log.warning("store_upkeep_failed", reason=str(error), retry_s=RETRY_S, exc_info=not is_known)
                await asyncio.sleep(RETRY_S)
                continue
            if not self._wake.is_set():
                self._rest.set()
            await self._wake.wait()
            self._wake.clear()

    async def _once(self) -> None:
        if self._writer.wal_pages >= WAL_PAGES_MAX:
            await self._checkpoint()
        while self._garbage:
            await self._collect(sorted(self._garbage)[:GARBAGE_QUEUES_MAX])
        while self._free_to_leave is not None:
            before = await self._hands.read(_free_pages)
            await self._hands.commits.submit(Trim(VACUUM_PAGES))
            if self._writer.wal_pages >= WAL_PAGES_MAX:
                await self._checkpoint()
            free = await self._hands.read(_free_pages)
            if free <= self._free_to_leave or free >= before:
                self._free_to_leave = None

    async def _write(self, work: Callable[[sqlite3.Connection], object]) -> None:
        await self._hands.write(work, GARBAGE_BATCH // 4)
        if self._writer.wal_pages >= WAL_PAGES_MAX:
            await self._checkpoint()

    async def _checkpoint(self) -> None:
        free, pages = await asyncio.get_running_loop().run_in_executor(self._thread, self._copy_wal)
        await self._hands.commits.submit(Checkpoint())
        limit = max(FREE_PAGES_MIN, pages // FREE_PART)
        if free >= limit and self._free_to_leave is None:
            self._free_to_leave = limit // 2

    def _copy_wal(self) -> tuple[int, int]:
        """In the checkpoint thread. Returns how many pages are free, and how many there are."""
        connection = self._hands.copying
        connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
        return _free_pages(connection), connection.execute("PRAGMA page_count").fetchone()[0]

    async def _collect(self, storage_ids: Sequence[int]) -> None:
        after: int | None = -1
        while after is not None:
            keys, after = await self._hands.read(partial(_find_garbage, storage_ids, after))
            for start in range(0, len(keys), GARBAGE_BATCH):
                await self._write(partial(_delete, storage_ids, keys[start : start + GARBAGE_BATCH]))
        self._garbage.difference_update(storage_ids)

    async def _delete_leftovers(self) -> None:
        """Deletes what a crash or a deleted queue left in the side tables."""
        leases = await self._hands.read(_orphaned_leases)
        for start in range(0, len(leases), GARBAGE_BATCH):
            await self._write(partial(_delete_leases, leases[start : start + GARBAGE_BATCH]))
        for start in range(0, len(self._gone_claims), GARBAGE_BATCH):
            await self._write(partial(delete_claims, self._gone_claims[start : start + GARBAGE_BATCH]))
        self._gone_claims = ()
        await self._write(delete_gone_sequences)


def _free_pages(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA freelist_count").fetchone()[0])


def _find_garbage(
    storage_ids: Sequence[int], after: int, connection: sqlite3.Connection
) -> tuple[list[int], int | None]:
    end = end_of_step(connection, after)
    if end is None:
        return [], None
    marks = ",".join("?" * len(storage_ids))
    found = connection.execute(
        f"SELECT id FROM messages WHERE id > ? AND id <= ? AND queue IN ({marks})", (after, end, *storage_ids)
    )
    return [key for (key,) in found], end


def _delete(storage_ids: Sequence[int], keys: Sequence[int], connection: sqlite3.Connection) -> None:
    marks = ",".join("?" * len(storage_ids))
    for _ in sql.over_ids(
        connection, f"DELETE FROM messages WHERE queue IN ({marks}) AND id IN", keys, first=storage_ids
    ):
        pass
    _delete_leases(keys, connection)


def _orphaned_leases(connection: sqlite3.Connection) -> list[int]:
    found = connection.execute("SELECT id FROM leases l WHERE NOT EXISTS (SELECT 1 FROM messages m WHERE m.id = l.id)")
    return [key for (key,) in found]


def _delete_leases(keys: Sequence[int], connection: sqlite3.Connection) -> None:
    for _ in sql.over_ids(connection, "DELETE FROM leases WHERE id IN", keys):
        pass
