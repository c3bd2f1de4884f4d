"""Work that no request waits for: fills, and deleting expired rows. Tasks are kept until done, so that a stopping
server can finish them. A failure is logged and not retried, since a later fill or sweep finds the same work again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress

import structlog

from cqs.errors import CqsError

_log = structlog.get_logger("cqs.background")
TASKS_MAX = 1_000
TURNS_AT_ONCE, TURNS_WAITING_MAX = 8, 10_000
DRAIN_S_MAX = 5.0


class Background:
    """A bounded set of tasks that run on the event loop it is used from."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()
        self._waiting: dict[str, Callable[[], Coroutine[object, object, None]]] = {}
        self._turns: set[str] = set()

    @property
    def is_busy(self) -> bool:
        return bool(self._tasks)

    def start_in_turn(self, name: str, make: Callable[[], Coroutine[object, object, None]]) -> None:
        """Queues heavy work that is requested again and again. One task per name runs at a time, and TURNS_AT_ONCE in
        all, in FIFO order. Ignored if the name is already queued or running, or TURNS_WAITING_MAX are queued."""
        if name in self._turns or name in self._waiting or len(self._waiting) >= TURNS_WAITING_MAX:
            return
        self._waiting[name] = make
        self._next_turns()

    async def wait_for(self, name: str, work: Coroutine[object, object, None], wait_s: float) -> bool:
        """Whether the work finished, or failed, within `wait_s`; otherwise it continues without the caller. With
        TASKS_MAX running it is not started. Raises any error that is not a CqsError."""
        if len(self._tasks) >= TASKS_MAX:
            work.close()
            _log.warning("background_work_dropped", work=name)
            return False
        task = self._keep(name, work)
        await asyncio.wait((task,), timeout=wait_s)
        if task.done():
            task.result()
        return task.done()

    def _next_turns(self) -> None:
        while self._waiting and len(self._turns) < TURNS_AT_ONCE:
            name = next(iter(self._waiting))
            self._turns.add(name)
            self._keep(name, self._turn(name, self._waiting.pop(name)()))

    def _keep(self, name: str, work: Coroutine[object, object, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(_guarded(name, work), name=name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _turn(self, name: str, work: Coroutine[object, object, None]) -> None:
        try:
            await work
        finally:
            self._turns.discard(name)
            self._next_turns()

    async def drain(self) -> None:
        """Waits for everything started so far, for DRAIN_S_MAX at most, so that a hanging store can't keep a server
        from stopping. Queued work that has not started is dropped."""
        self._waiting.clear()
        with suppress(TimeoutError):
            await asyncio.wait_for(asyncio.gather(*self._tasks), DRAIN_S_MAX)


async def _guarded(name: str, work: Coroutine[object, object, None]) -> None:
    try:
        await work
    except CqsError as error:
        _log.warning("background_work_failed", work=name, reason=str(error))
