"""Deletes what purges and deleted queues leave behind: whole partitions, one by one in the background.

The storage id is recorded first, so that another start can continue where a killed node stopped. Nobody reads these
partitions any more, and their messages would end by TTL anyway: this frees the space days earlier, at one tombstone per
row.

The tombstones cover everything up to LATE_MS from now, so that a storage id that turns out to be in use keeps what is
sent after that: if two data centres purge and change a queue at the same moment, the later write wins, and may restore
the generation.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import structlog

from cqs.clock import Clock
from cqs.errors import CqsError
from cqs.queue import GENERATION_BITS
from cqs.store.cassandra import statements as cql
from cqs.store.cassandra.messages import Messages
from cqs.store.cassandra.session import Session, Write, whole

LATE_MS = 10_000
"""Nodes whose clocks are this far ahead may write to the storage id until they hear of the purge; anything later ends
by TTL."""
ADOPT_AFTER_MS = 600_000
"""A storage id recorded this long ago was left by a node that is gone."""
_log = structlog.get_logger("cqs.store")


class Sweeping:
    """Belongs to one event loop."""

    def __init__(self, session: Session, messages: Messages, clock: Clock, rows: int) -> None:
        self._session = session
        self._messages = messages
        self._clock = clock
        self._rows = rows
        self._tasks: set[asyncio.Task[None]] = set()

    async def sweep(self, storage_id: int, *, is_queue_gone: bool = False) -> None:
        """Records the storage id and starts deleting. Never raises: if it can't be recorded, the data ends by TTL."""
        try:
            await self._session.write([Write(cql.NOTE_GARBAGE, (storage_id, self._clock.now_ms()))])
        except CqsError as error:
            _log.warning("garbage_not_noted", queue=storage_id, reason=str(error))
        self._start(storage_id, is_queue_gone)

    async def adopt(self, storage_ids: Callable[[], Awaitable[set[int]]]) -> None:
        """Continues the work other nodes left, except for storage ids that are in use again; `storage_ids` returns
        those of the existing queues. Raises StoreUnavailable."""
        oldest_ms = self._clock.now_ms() - ADOPT_AFTER_MS
        garbage = whole(await self._session.all(cql.ALL_GARBAGE))
        left = [storage_id for storage_id, since_ms in garbage if since_ms < oldest_ms]
        living = await storage_ids() if left else set[int]()
        uids = {storage_id >> GENERATION_BITS for storage_id in living}
        for storage_id in left:
            if storage_id not in living:
                self._start(storage_id, storage_id >> GENERATION_BITS not in uids)

    async def rest(self) -> None:
        """Returns when no work is left."""
        while self._tasks:
            await asyncio.gather(*self._tasks, return_exceptions=True)

    async def stop(self) -> None:
        """Leaves the rest to another start."""
        for task in self._tasks:
            task.cancel()
        await self.rest()

    def _start(self, storage_id: int, is_queue_gone: bool) -> None:
        task = asyncio.ensure_future(self._delete(storage_id, is_queue_gone))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _delete(self, storage_id: int, is_queue_gone: bool) -> None:
        stamp = (self._clock.now_ms() + LATE_MS) * 1_000
        try:
            for row in range(self._rows):
                await self._messages.drop(storage_id, row, stamp)
            if is_queue_gone:
                await self._forget_queue(storage_id >> GENERATION_BITS)
            await self._session.write([Write(cql.DROP_LATE, (storage_id,))])
            await self._session.write([Write(cql.DROP_MARKS, (self._session.datacenter, storage_id))])
            await self._session.write([Write(cql.FORGET_GARBAGE, (storage_id,))])
        except CqsError as error:
            _log.warning("garbage_not_deleted", queue=storage_id, reason=str(error))

    async def _forget_queue(self, uid: int) -> None:
        """Deletes the rows that no purge and no TTL removes: the queue's last sequence, and its home."""
        await self._session.decide([Write(cql.DROP_SEQUENCE, (uid,))])
        for (shard,) in await self._session.read(cql.HOMES_OF, (uid,)):
            await self._session.decide([Write(cql.DROP_HOME, (uid, shard))])
