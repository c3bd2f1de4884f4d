"""What purges and deleted queues leave behind: whole partitions, deleted one by one in the background.

The storage id is noted first, so that another start goes on where a killed node stopped. Nobody reads these partitions
any more, and their messages would end by TTL anyway: this gives the space back days earlier, at one tombstone a row.

The tombstones end LATE_MS from now, so that a storage id which is in use after all keeps what is sent from then on: of
a purge and a change that two data centres make at one moment the later one stays, and may bring the generation back.
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
"""Nodes whose clocks are this far ahead write into it until they hear of it; what comes later ends by TTL."""
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

    async def sweep(self, storage_id: int, *, is_queue_gone: bool = False) -> None:
        """Notes it and starts to delete it. Raises nothing: what can't be noted ends by TTL."""
        try:
            await self._session.write([Write(cql.NOTE_GARBAGE, (storage_id, self._clock.now_ms()))])
        except CqsError as error:
            _log.warning("garbage_not_noted", queue=storage_id, reason=str(error))
        self._start(storage_id, is_queue_gone)

    async def adopt(self, storage_ids: Callable[[], Awaitable[set[int]]]) -> None:
        """Goes on with what others left, but for what is in use again; `storage_ids` tells those of the queues that
        there are. Raises StoreUnavailable."""
        oldest_ms = self._clock.now_ms() - ADOPT_AFTER_MS
        garbage = whole(await self._session.all(cql.ALL_GARBAGE))
        left = [storage_id for storage_id, since_ms in garbage if since_ms < oldest_ms]
        living = await storage_ids() if left else set[int]()
        uids = {storage_id >> GENERATION_BITS for storage_id in living}
        for storage_id in left:
            if storage_id not in living:
                self._start(storage_id, storage_id >> GENERATION_BITS not in uids)

    async def rest(self) -> None:
        """Returns when nothing is left to do."""
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
        """The rows that no purge and no TTL takes away: its last sequence, and its home."""
        await self._session.decide([Write(cql.DROP_SEQUENCE, (uid,))])
        for (shard,) in await self._session.read(cql.HOMES_OF, (uid,)):
            await self._session.decide([Write(cql.DROP_HOME, (uid, shard))])
