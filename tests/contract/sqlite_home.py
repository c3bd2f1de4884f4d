"""A data directory for SQLite stores under test, and ways to damage it."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import sqlite3
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import cast

from cqs.store.sqlite.schema import FILE_NAME
from cqs.store.sqlite.store import SqliteStore
from cqs.store.sqlite.writer import Writer
from cqs.store.sqlite.writer_process import WriterProcess
from cqs.testing.clock import ManualClock
from tests import needs
from tests.contract.store_home import Store


class SqliteHome:
    """A crash is simulated by a copy of the files, taken while the store is open and busy."""

    def __init__(self, folder: Path, clock: ManualClock, *, has_writer_process: bool = False) -> None:
        self.folder = folder
        self._has_writer_process = has_writer_process
        self._clock = clock
        self._opened: list[Store] = []

    @property
    def file(self) -> Path:
        return self.folder / FILE_NAME

    async def open(self) -> SqliteStore:
        store = SqliteStore(self.folder, self._clock, has_writer_process=self._has_writer_process)
        await store.open()
        self._opened.append(store)
        return store

    async def reopen(self, store: Store) -> SqliteStore:
        await store.close()
        return await self.open()

    async def crash(self, store: Store) -> SqliteStore:
        copy = self.folder.with_name(self.folder.name + "-crashed")
        shutil.copytree(self.folder, copy, ignore=shutil.ignore_patterns("*-shm"))
        self.folder = copy
        return await self.open()

    async def close(self) -> None:
        for store in self._opened:
            await store.close()

    def ask(self, sql: str, *values: object) -> list[tuple[object, ...]]:
        """Reads or changes the file behind the store's back."""
        connection = sqlite3.connect(self.file)
        try:
            with connection:
                return connection.execute(sql, values).fetchall()
        finally:
            connection.close()


def writer_of(store: SqliteStore) -> WriterProcess:
    writer = store.hands.writer
    assert isinstance(writer, WriterProcess)
    return writer


def pid_of(store: SqliteStore) -> int:
    pid = writer_of(store).pid
    assert pid is not None
    return pid


def is_alive(pid: int) -> bool:
    with suppress(ProcessLookupError):
        os.kill(pid, 0)
        return True
    return False


async def kill(store: SqliteStore) -> None:
    """Returns when the store has noticed."""
    killed = pid_of(store)
    os.kill(killed, signal.SIGKILL)
    async with asyncio.timeout(60):
        while writer_of(store).pid == killed:  # noqa: ASYNC110 nobody is told
            await asyncio.sleep(0)


def next_commit(store: SqliteStore) -> asyncio.Future[int]:
    """A future that gets the number of jobs in the store's next commit, once it is done."""
    future: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    def observe(jobs: int, waited_ns: int, took_ns: int) -> None:
        if not future.done():
            future.set_result(jobs)

    store.hands.commits.observers.append(observe)
    return future


class BrokenConnection:
    """Wraps the writer's connection: the first `times` statements that start with `prefix` fail with `code`."""

    def __init__(
        self, store: SqliteStore, prefix: str, code: int, times: int = 1, *, is_done_first: bool = False
    ) -> None:
        writer = store.hands.writer
        assert isinstance(writer, Writer), "the writer is a thread here"
        self._writer = writer
        self._real = self._writer._db
        self._prefix = prefix
        self._code = code
        self._times = times
        self._is_done_first = is_done_first
        self.statements: list[str] = []
        self._writer._db = cast(sqlite3.Connection, self)

    @property
    def in_transaction(self) -> bool:
        return self._real.in_transaction

    def executescript(self, sql: str) -> sqlite3.Cursor:
        return self._real.executescript(sql)

    def execute(self, sql: str, values: Sequence[int] = ()) -> sqlite3.Cursor:
        self.statements.append(sql)
        if self._times and sql.startswith(self._prefix):
            self._times -= 1
            if self._is_done_first:
                self._real.execute(sql, values)
            error = sqlite3.OperationalError("made up by a test")
            error.sqlite_errorcode = self._code
            raise error
        return self._real.execute(sql, values)


@contextmanager
def small_disk() -> Iterator[Path]:
    """Mounts a file system of 16 MiB; skips the test if it may not. It is not below pytest's folders, which are removed
    by name."""
    place = Path(tempfile.mkdtemp(prefix="cqs-disk-"))
    try:
        mount = ["mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", str(place)]
        if subprocess.run(mount, capture_output=True, check=False).returncode:
            needs.absent("needs to mount a tmpfs", "make test as root, in a container with --privileged")
        try:
            yield place
        finally:
            subprocess.run(["umount", "-l", place], check=True)
    finally:
        place.rmdir()


def fill(filler: Path) -> None:
    """Fills the disk completely."""
    with filler.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(4_096))
