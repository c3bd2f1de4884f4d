"""What purges and deleted queues leave behind: whole partitions, deleted one by one in the background.

The storage id is noted first, so that another start goes on where a killed node stopped. Nobody reads these partitions
any more, and their messages would end by TTL anyway: this gives the space back days earlier, at one tombstone a row.
"""

from __future__ import annotations

import asyncio

import structlog

from cqs.clock import Clock
from cqs.errors import CqsError
from cqs.store.cassandra import statements as cql
from cqs.store.cassandra.addresses import FAR_STAMP
from cqs.store.cassandra.messages import Messages
from cqs.store.cassandra.session import Session, Write, whole

ADOPT_AFTER_MS = 600_000
"""A storage id that was noted this long ago has been left by a node that is gone."""
_log = structlog.get_logger("cqs.store")


class Sweeping:
    """Belongs to one event loop."""

    def __init__(self, session: Session, messages: Messages, clock: Clock, rows: int) -> None:
        self._session = session
        self._messages = messages
        self._clock = clock
        self._rows = rows
        self._tasks: set[asyncio.Task[None]] = set()

    async def sweep(self, storage_id: int) -> None:
        """Notes it and starts to delete it. Raises nothing: what can't be noted ends by TTL."""
        try:
            await self._session.write([Write(cql.NOTE_GARBAGE, (storage_id, self._clock.now_ms()))])
        except CqsError as error:
            _log.warning("garbage_not_noted", queue=storage_id, reason=str(error))
        self._start(storage_id)

    async def adopt(self) -> None:
        """Goes on with what others left. Raises StoreUnavailable."""
        oldest_ms = self._clock.now_ms() - ADOPT_AFTER_MS
        for storage_id, since_ms in whole(await self._session.all(cql.ALL_GARBAGE)):
            if since_ms < oldest_ms:
                self._start(storage_id)

    async def rest(self) -> None:
        """Returns when nothing is left to do."""
        while self._tasks:
            await asyncio.gather(*self._tasks, return_exceptions=True)

    async def stop(self) -> None:
        """Leaves the rest to another start."""
        for task in self._tasks:
            task.cancel()
        await self.rest()

    def _start(self, storage_id: int) -> None:
        task = asyncio.ensure_future(self._delete(storage_id))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _delete(self, storage_id: int) -> None:
        try:
            for row in range(self._rows):
                await self._messages.drop(storage_id, row, FAR_STAMP)
            await self._session.write([Write(cql.DROP_LATE, (storage_id,))])
            await self._session.write([Write(cql.DROP_MARKS, (self._session.datacenter, storage_id))])
            await self._session.write([Write(cql.FORGET_GARBAGE, (storage_id,))])
        except CqsError as error:
            _log.warning("garbage_not_deleted", queue=storage_id, reason=str(error))
