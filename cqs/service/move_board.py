"""The move tasks in memory: listing reads them, cancelling marks them, the runner executes them. The store keeps the
same tasks across restarts. The board is updated first, so that whoever saves a task saves its newest state."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator

import msgspec

from cqs import limits
from cqs.errors import InvalidParameterValue, OverLimit
from cqs.queue import QueueName
from cqs.store.interface import MOVE_TASKS_KEPT, MoveStatus, MoveTask

RUNNING_ALREADY = (
    "There is already a task running. Only one active task is allowed for a source queue arn at a given time."
)
ACTIVE = frozenset({MoveStatus.RUNNING, MoveStatus.CANCELLING})


class MoveBoard:
    """All tasks by handle, and by source queue, newest first. Belongs to one event loop."""

    def __init__(self) -> None:
        self._tasks: dict[str, MoveTask] = {}
        self._of_source: dict[QueueName, list[str]] = {}
        self._starting: dict[QueueName, None] = {}
        self._news = asyncio.Event()
        self.is_loaded = False
        """The store's tasks have been read."""

    def get(self, handle: str) -> MoveTask | None:
        return self._tasks.get(handle)

    def put(self, task: MoveTask) -> None:
        """Adds the task and wakes the runner, or replaces the task with the same handle."""
        if task.handle not in self._tasks:
            handles = self._of_source.setdefault(task.source, [])
            handles.insert(0, task.handle)
            for old in handles[MOVE_TASKS_KEPT:]:
                del self._tasks[old]
            del handles[MOVE_TASKS_KEPT:]
            self._news.set()
        self._tasks[task.handle] = task

    def count(self, handle: str, moved: int) -> None:
        """Adds to the number of messages that the task has moved."""
        task = self._tasks[handle]
        self._tasks[handle] = msgspec.structs.replace(task, moved=task.moved + moved)

    def active(self) -> list[MoveTask]:
        return [task for task in self._tasks.values() if task.status in ACTIVE]

    def of_source(self, source: QueueName, limit: int) -> list[MoveTask]:
        """The newest tasks of a source queue, newest first."""
        return [self._tasks[handle] for handle in self._of_source.get(source, [])[:limit]]

    def newest(self) -> list[MoveTask]:
        """The newest task of each source queue."""
        return [self._tasks[handles[0]] for handles in self._of_source.values() if handles]

    @contextlib.contextmanager
    def starting(self, source: QueueName) -> Iterator[None]:
        """Reserves the source's single slot while a task is started. Raises InvalidParameterValue if it is taken,
        OverLimit if the account has too many active tasks."""
        busy = [task.source for task in self.active()] + list(self._starting)
        if source in busy:
            raise InvalidParameterValue(RUNNING_ALREADY)
        if sum(other.account == source.account for other in busy) >= limits.MOVE_TASKS_ACTIVE_MAX:
            raise OverLimit(f"There are {limits.MOVE_TASKS_ACTIVE_MAX} active message move tasks, the maximum.")
        self._starting[source] = None
        try:
            yield
        finally:
            del self._starting[source]

    def stir(self) -> None:
        """Makes the runner look for work again."""
        self._news.set()

    async def wait(self) -> None:
        """Returns once a task was added or the runner stirred since the last wait ended."""
        await self._news.wait()
        self._news.clear()
