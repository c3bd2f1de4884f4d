"""The writer process, seen from the server.

    event loop  ── one frame a commit ──►  writer process ──► messages.db-wal
                ◄─ one frame back ───────  (cqs.store.sqlite.writing)

As a thread, the writer takes the GIL from the event loop a dozen times a commit, and the loop waits for it each time:
measured, 40 µs of a small call (docs/speed.md). As a process it has the second core to itself; the loop only packs a
batch and unpacks a reply.

    the server dies         the writer reads the end of its socket, finishes its commit, and ends; it holds the data
                            directory's lock until then, so the next server sees all it wrote
    the writer dies         (killed, out of memory) its current batch has an unknown outcome, as after a failed COMMIT;
                            the next batch starts another writer
    the writer hangs        (stopped, or the disk does not answer) all wait, and /ready says so; a server that shuts
                            down kills it after STUCK_S_MAX
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

import structlog

from cqs.child import Child
from cqs.errors import OutcomeUnknown, StoreUnavailable
from cqs.store.sqlite.failures import gone_text
from cqs.store.sqlite.folder import identity_of
from cqs.store.sqlite.jobs import Job
from cqs.store.sqlite.wire import pack_jobs, unpack_reply

STOP_S_MAX = 10.0
"""How long an idle writer may take to end."""
STUCK_S_MAX = 10.0
"""How long a batch may take once the store is closing."""
_log = structlog.get_logger("cqs.store")

_Done = Callable[[Sequence[object]], None]


class WriterProcess:
    """A `Hand`. Belongs to one event loop, except `wal_pages`, `is_ballast_spent` and `failing`, which any thread may
    read."""

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
        self._is_hurried = False
        self._deadline: asyncio.TimerHandle | None = None
        self.wal_pages = 0
        self.is_ballast_spent = False
        self.failing = ""

    @property
    def pid(self) -> int | None:
        """None when there is no process."""
        return None if self._child is None else self._child.pid

    def is_gone(self) -> bool:
        """Whether the opened file is no longer at its path (deleted or replaced). Any thread may ask."""
        return identity_of(self._file) != self._opened

    async def open(self) -> None:
        """Returns when the process is ready. Raises StoreUnavailable when it can't start."""
        self._opening = asyncio.get_running_loop().create_future()
        self._start()
        try:
            await self._opening
        finally:
            self._opening = None

    def give(self, jobs: Sequence[Job], done: _Done) -> None:
        data = pack_jobs(jobs)
        child = self._child or self._start()
        child.send(data)
        self._given = len(jobs), done
        if self._is_hurried:
            self._limit(child)

    def hurry(self) -> None:
        self._is_hurried = True
        if self._given is not None and self._child is not None:
            self._limit(self._child)

    async def close(self) -> None:
        if self._child is not None:
            child, self._child = self._child, None
            await child.close(STOP_S_MAX)

    def _start(self) -> Child:
        """Raises StoreUnavailable. A process that began now on a replaced file would write to it, with a log that
        belongs to the other, and one on a deleted file would make an empty one."""
        if self.is_gone():
            raise StoreUnavailable(gone_text(self._file))
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
        self.wal_pages, self.is_ballast_spent, self.failing = reply[:-1]
        count, done = self._take_given()
        done([None] * count if reply.results is None else reply.results)

    def _died(self, code: int) -> None:
        self._child = None
        _log.error("store_writer_died", exit_code=code, reason=str(self._trouble or ""))
        if self._opening is not None:
            self._opening.set_exception(self._trouble or StoreUnavailable(f"The store's writer ended ({code})."))
        elif self._given is not None:
            count, done = self._take_given()
            unknown = OutcomeUnknown(f"The store's writer ended ({code}); whether it wrote is not known.")
            self.failing = str(self._trouble or unknown)
            done([self._trouble or unknown] * count)

    def _take_given(self) -> tuple[int, _Done]:
        assert self._given is not None
        given, self._given = self._given, None
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
        return given

    def _limit(self, child: Child) -> None:
        """Enforces STUCK_S_MAX for the current batch: after that, it is never answered."""
        self._deadline = asyncio.get_running_loop().call_later(STUCK_S_MAX, self._give_up, child)

    def _give_up(self, child: Child) -> None:
        _log.error("store_writer_hangs", seconds=STUCK_S_MAX, hint="it is killed; its last batch may be written or not")
        child.kill()
