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
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import structlog

import cqs
from cqs.errors import OutcomeUnknown, StoreUnavailable
from cqs.store.sqlite.folder import identity_of
from cqs.store.sqlite.jobs import Job
from cqs.store.sqlite.wire import LENGTH, pack_jobs, unpack_reply

STOP_S_MAX = 60.0
_READ_BYTES = 1 << 18
_SEND_BUFFER_BYTES = 4 << 20
_log = structlog.get_logger("cqs.store")

_Done = Callable[[Sequence[object]], None]


class WriterProcess:
    """A `Hand`. Belongs to one event loop, except `wal_pages` and `is_ballast_spent`, which anybody may read."""

    def __init__(self, file: Path, lock: int) -> None:
        """`lock` is the descriptor of the data directory's lock."""
        self._file = file
        self._lock = lock
        self._opened = identity_of(file)
        self._child: subprocess.Popen[bytes] | None = None
        self._link: socket.socket
        self._out = bytearray()
        self._in = bytearray()
        self._is_ready = False
        self._trouble: Exception | None = None
        self._opening: asyncio.Future[None] | None = None
        self._given: tuple[int, _Done] | None = None
        self._loop: asyncio.AbstractEventLoop
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
        self._loop = asyncio.get_running_loop()
        self._opening = self._loop.create_future()
        self._start()
        try:
            await self._opening
        finally:
            self._opening = None

    def give(self, jobs: Sequence[Job], done: _Done) -> None:
        frame = pack_jobs(jobs)
        if self._child is None:
            self._start()
        self._given = len(jobs), done
        self._send(frame)

    async def close(self) -> None:
        if self._child is not None:
            child, self._child = self._child, None
            self._let_go()
            await asyncio.to_thread(child.wait, STOP_S_MAX)

    def _start(self) -> None:
        """Raises StoreUnavailable."""
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BUFFER_BYTES)
        paths = [str(Path(cqs.__file__).parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])]
        try:
            self._child = subprocess.Popen(
                [sys.executable, "-P", "-m", "cqs.store.sqlite.writing", str(theirs.fileno()), str(self._file)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=(theirs.fileno(), self._lock),
                env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)},
            )
        except OSError as error:
            ours.close()
            raise StoreUnavailable(f"The store's writer can't be started: {error.strerror}.") from error
        finally:
            theirs.close()
        self._link, self._is_ready, self._trouble = ours, False, None
        self._loop.add_reader(ours.fileno(), self._receive)

    def _send(self, frame: bytes) -> None:
        """The socket takes what it can at once; the rest follows when it can take more."""
        try:
            sent = self._link.send(frame)
        except BlockingIOError:
            sent = 0
        except OSError:
            return  # it died: the reader is told so
        if sent < len(frame):
            self._out += frame[sent:]
            self._loop.add_writer(self._link.fileno(), self._send_more)

    def _send_more(self) -> None:
        try:
            del self._out[: self._link.send(self._out)]
        except BlockingIOError:
            return
        except OSError:
            self._out.clear()
        if not self._out:
            self._loop.remove_writer(self._link.fileno())

    def _receive(self) -> None:
        try:
            data = self._link.recv(_READ_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._died()
            return
        self._in += data
        while len(self._in) >= LENGTH.size:
            (size,) = LENGTH.unpack_from(self._in)
            end = LENGTH.size + size
            if len(self._in) < end:
                return
            frame = bytes(self._in[LENGTH.size : end])
            del self._in[:end]
            self._replied(frame)

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

    def _died(self) -> None:
        child, self._child = self._child, None
        self._let_go()
        assert child is not None
        child.kill()
        code = child.wait()
        _log.error("store_writer_died", exit_code=code, reason=str(self._trouble or ""))
        if self._opening is not None:
            self._opening.set_exception(self._trouble or StoreUnavailable(f"The store's writer ended ({code})."))
        elif self._given is not None:
            (count, done), self._given = self._given, None
            unknown = OutcomeUnknown(f"The store's writer ended ({code}); whether it wrote is not known.")
            done([self._trouble or unknown] * count)

    def _let_go(self) -> None:
        self._loop.remove_reader(self._link.fileno())
        self._loop.remove_writer(self._link.fileno())
        self._link.close()
        self._in.clear()
        self._out.clear()
