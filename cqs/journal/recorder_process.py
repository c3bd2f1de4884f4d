"""The recorder as a process of its own, seen from the server.

    event loop  Buffer ── frames ──►  recorder (cqs.journal.recording) ──► files
                       ◄─ reports ──  how many lines are done, and lost

Whoever dies, the gap is seen:

    the server dies     the recorder writes what it got, without a closing line, and ends
    the recorder dies   what it had not reported is counted as missing, though some of it may be in its file, which
                        stays without a closing line; another one begins an incarnation, and says how much is missing
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
"""From one start to the next, at least."""
STOP_S_MAX = 30.0
_log = structlog.get_logger("cqs.journal")


class RecorderProcess:
    """Hands over what is in the buffer, each FLUSH_S or when a frame is full. Belongs to one event loop."""

    def __init__(self, rules: JournalRules, buffer: Buffer, ticked: Callable[[], None]) -> None:
        """`ticked` is called each FLUSH_S, before what is in the buffer is handed over."""
        self._rules = rules
        self._ticked = ticked
        self._buffer = buffer
        self._child: Child | None = None
        self.unreported = 0
        """Lines that the recorder was sent and has not reported."""
        self._started_s = 0.0
        self._opening: asyncio.Future[str] | None = None
        self._ending: asyncio.Future[None] | None = None
        self._is_goodbye_said = False
        self._timer: asyncio.TimerHandle | None = None
        self._loop: asyncio.AbstractEventLoop

    @property
    def pid(self) -> int | None:
        """None when there is none."""
        return None if self._child is None else self._child.pid

    async def open(self) -> None:
        """Returns when the first file is begun. Raises CannotStart."""
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
        """Returns when all is written and the process has ended. Idempotent; never raises."""
        self._buffer.is_ready = lambda: None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
            if self._child is None:
                self._start()
        if self._child is None:
            return
        self._ending = self._loop.create_future()
        self._hand_over()
        try:
            await asyncio.wait_for(asyncio.shield(self._ending), STOP_S_MAX)
        except TimeoutError:
            self._child.kill()
            await self._ending

    def _start(self) -> None:
        """Tries to."""
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
            _log.error("journal_recorder_not_started", reason=error.strerror)

    def _tick(self) -> None:
        self._timer = self._loop.call_later(FLUSH_S, self._tick)
        if self._child is None and self._loop.time() - self._started_s >= RESTART_S:
            self._start()
        self._ticked()
        self._hand_over()

    def _hand_over(self) -> None:
        """As much as the socket takes: no more than one frame waits outside the buffer and its bound."""
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
