"""Move tasks: one partition per source queue, newest first. Written only by the node that leads the task. They end by
TTL, including those of deleted queues."""

from __future__ import annotations

import msgspec

from cqs.limits import RETENTION_S_MAX
from cqs.store.cassandra import statements as cql
from cqs.store.cassandra.session import Session, Write
from cqs.store.definitions import Definitions
from cqs.store.interface import MOVE_TASKS_KEPT, MoveTask

_encode = msgspec.json.Encoder().encode


class MoveTasks:
    """Belongs to one event loop."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._tasks = Definitions(MoveTask)

    async def all(self) -> list[MoveTask]:
        """Newest first."""
        tasks = self._tasks.all(await self._session.all(cql.ALL_MOVE_TASKS))
        return sorted(tasks, key=lambda task: (task.started_ms, task.handle), reverse=True)

    async def save(self, task: MoveTask) -> None:
        """Adds or replaces the task, and deletes the oldest ones of its source beyond MOVE_TASKS_KEPT."""
        source = (task.source.account, task.source.name)
        values = (*source, task.started_ms, task.handle, _encode(task).decode(), RETENTION_S_MAX)
        await self._session.write([Write(cql.SAVE_MOVE_TASK, values)])
        kept = await self._session.read(cql.MOVE_TASKS_OF, source)
        if len(kept) > MOVE_TASKS_KEPT:
            await self._session.write([Write(cql.FORGET_MOVE_TASK, (*source, *one)) for one in kept[MOVE_TASKS_KEPT:]])
