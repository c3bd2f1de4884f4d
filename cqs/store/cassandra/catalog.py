"""Queues and dropped names. Each queue is a partition of its own and changes only by conditional writes.

A queue's row holds its definition as JSON, for people and for Spark; the other columns are those used in conditions.
"""

from __future__ import annotations

import msgspec
import structlog

from cqs.clock import Clock
from cqs.errors import CqsError, StoreUnavailable
from cqs.queue import GENERATION_BITS, Queue, QueueName
from cqs.store.cassandra import statements as cql
from cqs.store.cassandra.decisions import decide
from cqs.store.cassandra.session import Session, Write, whole
from cqs.store.definitions import Definitions
from cqs.store.interface import DROPPED_KEPT_MS

_encode = msgspec.json.Encoder().encode
DROPS_MAX = 10
_log = structlog.get_logger("cqs.store")


class Catalog:
    """Belongs to one event loop."""

    def __init__(self, session: Session, clock: Clock) -> None:
        self._session = session
        self._clock = clock
        self._queues = Definitions(Queue)

    async def queues(self) -> list[Queue]:
        return self._queues.all(await self._session.all(cql.ALL_QUEUES))

    async def storage_ids(self) -> set[int]:
        """Storage ids of all queues, including those whose definition can't be read."""
        rows = await self._session.all(cql.ALL_STORAGE_IDS)
        return {uid << GENERATION_BITS | (generation or 0) for uid, generation in rows if uid is not None}

    async def find(self, key: QueueName) -> Queue | None:
        rows = whole(await self._session.read(cql.FIND_QUEUE, (key.account, key.name)))
        return self._queues.one(rows[0][0], key.account, key.name) if rows else None

    async def create(self, queue: Queue) -> Queue:
        values = (queue.account, queue.name, queue.uid, queue.version, queue.generation, _encode(queue).decode())
        is_new, decision = await decide(self._session, [Write(cql.CREATE_QUEUE, values)], _never)
        if is_new or not decision.found:
            return queue
        return self._queues.one(decision.found[0]["definition"], queue.account, queue.name)

    async def save(self, queue: Queue) -> int | None:
        """The storage id that was replaced, possibly the same; None when the condition did not hold."""
        known = await self.find(queue.key)
        if known is None or known.uid != queue.uid or known.version != queue.version - 1:
            return None
        definition = _encode(queue).decode()
        condition = (queue.account, queue.name, queue.uid, queue.version - 1)
        write = Write(cql.SAVE_QUEUE, (queue.version, queue.generation, definition, *condition))
        is_saved, _ = await decide(self._session, [write], lambda: self._is_now(queue))
        return known.storage_id if is_saved else None

    async def _is_now(self, queue: Queue) -> bool:
        return await self.find(queue.key) == queue

    async def drop(self, queue: Queue, now_ms: int) -> int | None:
        """The storage id whose messages are now garbage; None when the queue was gone already."""

        async def is_gone() -> bool:
            known = await self.find(queue.key)
            return known is None or known.uid != queue.uid

        for _ in range(DROPS_MAX):
            known = await self.find(queue.key)
            if known is None or known.uid != queue.uid:
                return None
            write = Write(cql.DROP_QUEUE, (queue.account, queue.name, queue.uid, known.version))
            is_dropped, _ = await decide(self._session, [write], is_gone)
            if is_dropped:
                await self._note_dropped(queue, now_ms)
                return queue.uid << GENERATION_BITS | known.generation
        raise StoreUnavailable(f"Queue {queue.name} changes too often to be deleted.")

    async def _note_dropped(self, queue: Queue, now_ms: int) -> None:
        """Never raises: the queue is gone, and whoever deleted it must be told so; at worst its name can be reused too
        early."""
        try:
            await self._session.write([Write(cql.NOTE_DROPPED, (queue.account, queue.name, now_ms))])
        except CqsError as error:
            _log.warning("dropped_queue_not_noted", queue=queue.name, reason=str(error))

    async def dropped_ms(self, key: QueueName) -> int:
        rows = whole(await self._session.read(cql.DROPPED_MS, (key.account, key.name)))
        dropped_ms = int(rows[0][0]) if rows else 0
        return dropped_ms if dropped_ms > self._clock.now_ms() - DROPPED_KEPT_MS else 0


async def _never() -> bool:
    return False
