"""What can't be undone once it is done is therefore done a moment later, and until then can be called off.

    begin ──► waits GRACE_MS, shown on every page with "Undo" ──► done, or told why not
                       │
                       ├── undone ──────────────────┐
                       └── the server ends ─────────┴──► nothing was done

Kept in this process: a crash in the meantime leaves everything as it was.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import structlog

from cqs.clock import Clock
from cqs.errors import CqsError

GRACE_MS = 10_000
FAILED_SHOWN_MS = 60_000
PENDING_MAX = 100
_log = structlog.get_logger("cqs.console")


class TooMuchPending(CqsError):
    """PENDING_MAX wait already."""


class Pending:
    """Something that is about to be done. `problem`: why it could not be, "" = it could, or is not done yet."""

    def __init__(self, number: int, text: str, account: str, due_ms: int) -> None:
        self.number = number
        self.text = text
        self.account = account
        self.due_ms = due_ms
        self.problem = ""
        self.task: asyncio.Task[None] | None = None
        """While it waits."""


class Grace:
    """Belongs to one event loop. `wait_ms` 0 = everything is done at once; `pause` waits that many seconds."""

    def __init__(
        self,
        clock: Clock,
        wait_ms: int = GRACE_MS,
        pause: Callable[[float], Awaitable[object]] = asyncio.sleep,
        first: int = 0,
    ) -> None:
        """Numbers count from above `first`, so that those of several workers differ."""
        self._clock = clock
        self._wait_ms = wait_ms
        self._pause = pause
        self._pending: dict[int, Pending] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._last = first

    @property
    def is_on(self) -> bool:
        return self._wait_ms > 0

    @property
    def wait_s(self) -> int:
        return self._wait_ms // 1_000

    def of(self, account: str) -> list[Pending]:
        """What waits, and what failed lately."""
        now_ms = self._clock.now_ms()
        for one in list(self._pending.values()):
            if one.problem and now_ms - one.due_ms > FAILED_SHOWN_MS:
                del self._pending[one.number]
        return [one for one in self._pending.values() if one.account == account]

    def get(self, number: int) -> Pending | None:
        return self._pending.get(number)

    def begin(self, text: str, account: str, work: Callable[[], Awaitable[str]]) -> Pending:
        """Does it after the wait; the work's answer says what of it failed, "" = nothing. Raises TooMuchPending."""
        if len(self._tasks) >= PENDING_MAX:
            raise TooMuchPending(f"{PENDING_MAX} changes wait to be done. Try again in {self.wait_s} s.")
        self._last += 1
        pending = Pending(self._last, text, account, self._clock.now_ms() + self._wait_ms)
        self._pending[pending.number] = pending
        task = pending.task = asyncio.create_task(self._run(pending, work), name=f"console_grace_{pending.number}")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return pending

    def undo(self, pending: Pending) -> bool:
        """False: too late, it is being done or was."""
        if pending.task is None:
            return False
        pending.task.cancel()
        pending.task = None
        del self._pending[pending.number]
        return True

    async def end(self) -> None:
        """The server is going down: what still waits is not done, what is being done is finished."""
        for one in list(self._pending.values()):
            self.undo(one)
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _run(self, pending: Pending, work: Callable[[], Awaitable[str]]) -> None:
        await self._pause(self._wait_ms / 1_000)
        pending.task = None
        del self._pending[pending.number]
        try:
            pending.problem = await work()
        except CqsError as error:
            pending.problem = str(error)
        except Exception:
            pending.problem = "Something is wrong in the console itself."
            _log.exception("console_change_failed", change=pending.text)
        if pending.problem:
            self._pending[pending.number] = pending
