"""Delays what can't be undone for a moment, during which it can be cancelled. What can be undone (settings) is done at
once, and can be restored for a while.

    begin ──► waits GRACE_MS, shown on every page with "Undo" ──► done, or the reason why not
                       │
                       ├── undone ──────────────────┐
                       └── the server stops ────────┴──► nothing was done

    offer ──► shown on every page with "Undo" for REGRET_MS ──► dropped; undone ──► restored to what it was

Held in this process's memory: a crash during the wait leaves everything as it was.
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
    """PENDING_MAX changes are already pending."""


class Pending:
    """A change that is about to be made, or was made and can be undone. `problem`: why it could not be made, "" = it
    was made, or not yet."""

    def __init__(self, number: int, text: str, account: str, due_ms: int) -> None:
        self.number = number
        self.text = text
        self.account = account
        self.due_ms = due_ms
        self.problem = ""
        self.target = ""
        """The target of the change, for the log of changes: the first of several."""
        self.task: asyncio.Task[None] | None = None
        """Set while it waits."""
        self.queue = ""
        """The queue of the account whose settings can be restored; "" = the change is not made yet."""
        self.put_back: Callable[[], Awaitable[object]] | None = None
        self.dropped: Callable[[], Awaitable[object]] | None = None
        """Called if the server stops before the change is made."""


class Grace:
    """Belongs to one event loop. `wait_ms` 0 = everything is done at once and can't be undone; `pause` waits that many
    seconds."""

    def __init__(
        self,
        clock: Clock,
        wait_ms: int = GRACE_MS,
        pause: Callable[[float], Awaitable[object]] = asyncio.sleep,
        first: int = 0,
    ) -> None:
        """Numbers start above `first`, so that those of several workers and nodes differ."""
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
        """Pending changes, and those that failed recently."""
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
        """Runs `work` after the wait; its result says which part failed, "" = none. `dropped` is called instead if the
        server stops before. `target` is what the change applies to. Raises TooMuchPending."""
        if sum(one.put_back is None for one in self._pending.values()) >= PENDING_MAX:
            raise TooMuchPending(f"{PENDING_MAX} changes are already pending. Try again in {self.wait_s} s.")
        pending = self._add(text, account, self._wait_ms)
        pending.dropped, pending.target = dropped, target
        self._start(pending, self._run(pending, work))
        return pending

    def offer(self, text: str, queue: QueueName, put_back: Callable[[], Awaitable[object]]) -> None:
        """Offers to undo a change of the queue for a while; replaces an earlier offer for that queue. Beyond
        OFFERS_MAX, the oldest offer is dropped."""
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
        """False: too late, it is being done or was done. Raises what restoring raises; then it can be tried again."""
        if pending.task is None:
            return False
        if pending.put_back is not None:
            await pending.put_back()
        self._forget(pending)
        return True

    async def end(self) -> None:
        """Called when the server stops: pending changes are not made, a change in progress is completed."""
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
