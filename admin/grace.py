"""What can't be undone once it is done is therefore done a moment later, and until then can be called off. What can be
undone (settings) is done at once, and can be put back for a while.

    begin ──► waits GRACE_MS, shown on every page with "Undo" ──► done, or told why not
                       │
                       ├── undone ──────────────────┐
                       └── the server ends ─────────┴──► nothing was done

    offer ──► shown on every page with "Undo" for REGRET_MS ──► forgotten; undone ──► put back as it was

Kept in this process: a crash in the meantime leaves everything as it was.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine

import structlog

from cqs.clock import Clock
from cqs.errors import CqsError
from cqs.queue import QueueName

GRACE_MS, REGRET_MS = 10_000, 60_000
FAILED_SHOWN_MS = 60_000
PENDING_MAX = OFFERS_MAX = 100
_log = structlog.get_logger("cqs.console")


class TooMuchPending(CqsError):
    """PENDING_MAX wait already."""


class Pending:
    """Something that is about to be done, or was done and can be put back. `problem`: why it could not be done, "" = it
    could, or is not done yet."""

    def __init__(self, number: int, text: str, account: str, due_ms: int) -> None:
        self.number = number
        self.text = text
        self.account = account
        self.due_ms = due_ms
        self.problem = ""
        self.target = ""
        """What it is done to, for the log of changes: the first of several."""
        self.task: asyncio.Task[None] | None = None
        """While it waits."""
        self.queue = ""
        """Whose settings can be put back: the name of a queue of the account; "" = it waits to be done."""
        self.put_back: Callable[[], Awaitable[object]] | None = None
        self.dropped: Callable[[], Awaitable[object]] | None = None
        """Told when the server ends before it is done."""


class Grace:
    """Belongs to one event loop. `wait_ms` 0 = everything is done at once and for good; `pause` waits that many
    seconds."""

    def __init__(
        self,
        clock: Clock,
        wait_ms: int = GRACE_MS,
        pause: Callable[[float], Awaitable[object]] = asyncio.sleep,
        first: int = 0,
    ) -> None:
        """Numbers count from above `first`, so that those of several workers and nodes differ."""
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

    def begin(
        self,
        text: str,
        account: str,
        work: Callable[[], Awaitable[str]],
        dropped: Callable[[], Awaitable[object]] | None = None,
        target: str = "",
    ) -> Pending:
        """Does it after the wait; the work's answer says what of it failed, "" = nothing. `dropped` is called instead
        when the server ends before. `target` is what it is done to. Raises TooMuchPending."""
        if sum(one.put_back is None for one in self._pending.values()) >= PENDING_MAX:
            raise TooMuchPending(f"{PENDING_MAX} changes are already pending. Try again in {self.wait_s} s.")
        pending = self._add(text, account, self._wait_ms)
        pending.dropped, pending.target = dropped, target
        self._start(pending, self._run(pending, work))
        return pending

    def offer(self, text: str, queue: QueueName, put_back: Callable[[], Awaitable[object]]) -> None:
        """Something of the queue was changed, and can be put back for a while; what was offered for it before can't be
        any more. Beyond OFFERS_MAX the oldest is forgotten."""
        if not self.is_on:
            return
        offers = [one for one in self._pending.values() if one.put_back is not None]
        for one in offers:
            if QueueName(one.account, one.queue) == queue:
                self._forget(one)
        if len(offers) >= OFFERS_MAX:
            self._forget(offers[0])
        pending = self._add(text, queue.account, REGRET_MS)
        pending.queue, pending.put_back, pending.target = queue.name, put_back, f"{queue.account}/{queue.name}"
        self._start(pending, self._expire(pending))

    async def undo(self, pending: Pending) -> bool:
        """False: too late, it is being done or was. Raises what putting back raises: then it may be tried again."""
        if pending.task is None:
            return False
        if pending.put_back is not None:
            await pending.put_back()
        self._forget(pending)
        return True

    async def end(self) -> None:
        """The server is going down: what still waits is not done, what is being done is finished."""
        waiting = [one for one in self._pending.values() if one.task is not None]
        for one in list(self._pending.values()):
            self._forget(one)
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for one in waiting:
            if one.dropped is not None:
                await one.dropped()

    def _add(self, text: str, account: str, wait_ms: int) -> Pending:
        self._last += 1
        pending = self._pending[self._last] = Pending(self._last, text, account, self._clock.now_ms() + wait_ms)
        return pending

    def _start(self, pending: Pending, waiting: Coroutine[object, object, None]) -> None:
        task = pending.task = asyncio.create_task(waiting, name=f"console_grace_{pending.number}")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _forget(self, pending: Pending) -> None:
        """Idempotent."""
        if pending.task is not None:
            pending.task.cancel()
            pending.task = None
        self._pending.pop(pending.number, None)

    async def _expire(self, pending: Pending) -> None:
        await self._pause(REGRET_MS / 1_000)
        pending.task = None
        self._pending.pop(pending.number, None)

    async def _run(self, pending: Pending, work: Callable[[], Awaitable[str]]) -> None:
        await self._pause(self._wait_ms / 1_000)
        pending.task = None
        del self._pending[pending.number]
        try:
            pending.problem = await work()
        except CqsError as error:
            pending.problem = str(error)
        except Exception:
            pending.problem = "The console had an internal error."
            _log.exception("console_change_failed", change=pending.text)
        if pending.problem:
            self._pending[pending.number] = pending
