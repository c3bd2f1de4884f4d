"""Work that nobody waits for: deleting expired rows, for instance. Kept until done, so that a stopping server can
finish it; a failure is logged and not repeated, since everything put here is found again by a later fill or sweep."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine

import structlog

from cqs.errors import CqsError

_log = structlog.get_logger("cqs.background")
TASKS_MAX = 1_000


class Background:
    """A bounded set of running tasks of the event loop it is used from."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def is_busy(self) -> bool:
        return bool(self._tasks)

    def start(self, name: str, work: Coroutine[object, object, None]) -> None:
        """Runs `work` to its end. Beyond TASKS_MAX it is dropped, with a log line."""
        if len(self._tasks) >= TASKS_MAX:
            work.close()
            _log.warning("background_work_dropped", work=name)
            return
        task = asyncio.create_task(_guarded(name, work), name=name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def start_once(self, name: str, make: Callable[[], Coroutine[object, object, None]]) -> None:
        """As `start`, unless work of this name is running."""
        if all(task.get_name() != name for task in self._tasks):
            self.start(name, make())

    async def drain(self) -> None:
        """Waits until everything started so far is done."""
        await asyncio.gather(*self._tasks)


async def _guarded(name: str, work: Coroutine[object, object, None]) -> None:
    try:
        await work
    except CqsError as error:
        _log.warning("background_work_failed", work=name, reason=str(error))
