"""The recorder process, seen from the server.

    event loop  Buffer ── frames ──►  recorder (cqs.journal.recording) ──► files
                       ◄─ reports ──  how many lines are done, and lost

Whichever process dies, the gap is visible:

    the server dies     the recorder writes what it has received, without a closing line, and ends
    the recorder dies   unreported events count as missing, though some may be in its file, which stays without a
                        closing line; a new recorder begins an incarnation, and writes how many are missing
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import structlog

from cqs.child import Child
from cqs.errors import CannotStart
from cqs.journal.buffer import Buffer
from cqs.journal.calls import GOODBYE, unpack_report
from cqs.journal.rules import JournalRules

FLUSH_S = 0.1
RESTART_S = 1.0
"""Minimum time from one start to the next."""
STOP_S_MAX = 30.0
_log = structlog.get_logger("cqs.journal")


class RecorderProcess:
    """Sends the buffer's contents every FLUSH_S, or when a frame is full. Belongs to one event loop."""

    def __init__(self, rules: JournalRules, buffer: Buffer, ticked: Callable[[], None]) -> None:
        """`ticked` is called every FLUSH_S, before the buffer's contents are sent."""
        self._rules = rules
        self._ticked = ticked
        self._buffer = buffer
        self._child: Child | None = None
        self.unreported = 0
        """Lines that were sent to the recorder and not reported by it yet."""
        self.trouble = ""
        """Why nothing can be written now; "" = it can."""
        self._started_s = 0.0
        self._opening: asyncio.Future[str] | None = None
        self._ending: asyncio.Future[None] | None = None
        self._is_goodbye_said = False
        self._timer: asyncio.TimerHandle | None = None
        self._loop: asyncio.AbstractEventLoop

    @property
    def pid(self) -> int | None:
        """None when there is no process."""
        return None if self._child is None else self._child.pid

    async def open(self) -> None:
        """Returns when the first file has begun. Raises CannotStart."""
        self._loop = asyncio.get_running_loop()
        self._opening = self._loop.create_future()
        self._start()
        trouble = "its process can't be started" if self._child is None else await self._opening
        self._opening = None
        if trouble:
            await self.close()
            raise CannotStart(f"The journal can't be written to {self._rules.folder}: {trouble}.")
        self._buffer.is_ready = self._hand_over
        self._tick()

    async def close(self) -> None:
        """Returns when everything is written and the process has ended. Idempotent; never raises."""
        self._buffer.is_ready = lambda: None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
            if self._child is None:
                self._start()
        if self._child is None:
            return
        self._ending = self._loop.create_future()
        self._child.hurry()
        self._hand_over()
        try:
            await asyncio.wait_for(asyncio.shield(self._ending), STOP_S_MAX)
        except TimeoutError:
            self._child.kill()
            await self._ending

    def _start(self) -> None:
        """Tries to start the process."""
        self._started_s = self._loop.time()
        try:
            self._child = Child(
                "cqs.journal.recording",
                [self._rules.packed()],
                heard=self._heard,
                ended=self._ended,
                drained=self._hand_over,
            )
        except OSError as error:
            self.trouble = f"its process can't be started ({error.strerror})"
            _log.error("journal_recorder_not_started", reason=error.strerror)

    def _tick(self) -> None:
        self._timer = self._loop.call_later(FLUSH_S, self._tick)
        if self._child is None and self._loop.time() - self._started_s >= RESTART_S:
            self._start()
        self._ticked()
        self._hand_over()

    def _hand_over(self) -> None:
        """Sends as much as the socket takes: at most one frame waits outside the buffer, and so beyond its limit."""
        child = self._child
        if child is None or self._is_goodbye_said:
            return
        while not child.is_behind:
            frame = self._buffer.take()
            if frame is None:
                break
            self.unreported += frame.lines
            child.send(frame.data)
        if self._ending is not None and not child.is_behind:
            self._is_goodbye_said = True
            child.send(GOODBYE)

    def _heard(self, data: bytes) -> None:
        report = unpack_report(data)
        self.unreported -= report.lines
        self._buffer.dropped += report.lost
        self.trouble = report.trouble
        for level, event, fields in report.notes:
            getattr(_log, level)(event, **fields)
        if self._opening is not None and not self._opening.done():
            self._opening.set_result(report.trouble)

    def _ended(self, code: int) -> None:
        self._child = None
        missing, self.unreported = self.unreported, 0
        self._buffer.miss(missing)
        if missing or not self._is_goodbye_said:
            _log.error("journal_recorder_died", exit_code=code, missing=missing)
        if self._opening is not None and not self._opening.done():
            self._opening.set_result(f"its process ended ({code})")
        if self._ending is not None:
            self._ending.set_result(None)
