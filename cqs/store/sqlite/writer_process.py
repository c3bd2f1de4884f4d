"""The writer as a process of its own, seen from the server.

    event loop  ── one frame a commit ──►  writer process ──► messages.db-wal
                ◄─ one frame back ───────  (cqs.store.sqlite.writing)

As a thread, the writer takes the GIL from the event loop a dozen times a commit, and the loop waits for it at each of
its turns: 40 µs of a small call, measured (docs/speed.md). As a process it has the second core to itself, and what is
left on the loop is to pack a batch and to unpack a reply.

    the server dies         the writer reads the end of its socket, finishes its commit, and ends; it holds the data
                            directory's lock until then, so whoever starts next sees all it wrote
    the writer dies         (killed, out of memory) the batch it had has an unknown outcome, as after a failed COMMIT;
                            the next batch finds another writer
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

import structlog

from cqs.child import Child
from cqs.errors import OutcomeUnknown, StoreUnavailable
from cqs.store.sqlite.folder import identity_of
from cqs.store.sqlite.jobs import Job
from cqs.store.sqlite.wire import pack_jobs, unpack_reply

STOP_S_MAX = 60.0
_log = structlog.get_logger("cqs.store")

_Done = Callable[[Sequence[object]], None]


class WriterProcess:
    """A `Hand`. Belongs to one event loop, except `wal_pages` and `is_ballast_spent`, which anybody may read."""

    def __init__(self, file: Path, lock: int) -> None:
        """`lock` is the descriptor of the data directory's lock."""
        self._file = file
        self._lock = lock
        self._opened = identity_of(file)
        self._child: Child | None = None
        self._is_ready = False
        self._trouble: Exception | None = None
        self._opening: asyncio.Future[None] | None = None
        self._given: tuple[int, _Done] | None = None
        self.wal_pages = 0
        self.is_ballast_spent = False

    @property
    def pid(self) -> int | None:
        """None when there is none."""
        return None if self._child is None else self._child.pid

    def is_gone(self) -> bool:
        """Whether another file, or none, stands where the opened one was. Anybody may ask."""
        return identity_of(self._file) != self._opened

    async def open(self) -> None:
        """Returns when the process is ready. Raises StoreUnavailable when it can't be."""
        self._opening = asyncio.get_running_loop().create_future()
        self._start()
        try:
            await self._opening
        finally:
            self._opening = None

    def give(self, jobs: Sequence[Job], done: _Done) -> None:
        data = pack_jobs(jobs)
        child = self._child or self._start()
        self._given = len(jobs), done
        child.send(data)

    async def close(self) -> None:
        if self._child is not None:
            child, self._child = self._child, None
            await child.close(STOP_S_MAX)

    def _start(self) -> Child:
        """Raises StoreUnavailable."""
        self._is_ready, self._trouble = False, None
        try:
            self._child = Child(
                "cqs.store.sqlite.writing",
                [str(self._file)],
                heard=self._replied,
                ended=self._died,
                pass_fds=(self._lock,),
            )
        except OSError as error:
            raise StoreUnavailable(f"The store's writer can't be started: {error.strerror}.") from error
        return self._child

    def _replied(self, frame: bytes) -> None:
        reply = unpack_reply(frame)
        if not self._is_ready:
            self._is_ready = True
            if reply.results is not None:
                (self._trouble,) = (result for result in reply.results if isinstance(result, Exception))
            elif self._opening is not None:
                self._opening.set_result(None)
            return
        self.wal_pages, self.is_ballast_spent = reply.wal_pages, reply.is_ballast_spent
        assert self._given is not None
        (count, done), self._given = self._given, None
        done([None] * count if reply.results is None else reply.results)

    def _died(self, code: int) -> None:
        self._child = None
        _log.error("store_writer_died", exit_code=code, reason=str(self._trouble or ""))
        if self._opening is not None:
            self._opening.set_exception(self._trouble or StoreUnavailable(f"The store's writer ended ({code})."))
        elif self._given is not None:
            (count, done), self._given = self._given, None
            unknown = OutcomeUnknown(f"The store's writer ended ({code}); whether it wrote is not known.")
            done([self._trouble or unknown] * count)
