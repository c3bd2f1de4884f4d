"""One queue of the real service on a manual clock, as a plain object for a rule-based test.

A restart closes the store and reopens it with an empty cache and a new registry: only durable data survive.
"""

from __future__ import annotations

import asyncio
import random
import shutil
import tempfile
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any, TypeVar

from cqs.cache.counts import Counts
from cqs.cache.memory import MemoryCache
from cqs.errors import InvalidParameterValue
from cqs.ids import Addresses
from cqs.queue import Queue, QueueName
from cqs.receipt import Receipts
from cqs.service import counting, delete, queues, receive, residency, revisibility, send, visibility
from cqs.service.deliver import Delivery
from cqs.service.draft_rules import Draft
from cqs.service.engine import Engine, Tuning
from cqs.service.long_poll import Waiters
from cqs.service.registry import Registry
from cqs.store.interface import Store
from cqs.store.memory import MemoryStore
from cqs.store.sqlite.store import SqliteStore
from cqs.testing.clock import ManualClock
from cqs.testing.witness import RecordingWitness

T = TypeVar("T")
ReopenStore = Callable[[], Store]

BODY_BUDGET_BYTES = 200
"""Room for a few bodies: most are read from the store."""
VISIBILITY_MS = 30_000
RETENTION_MS = 345_600_000
_NO_DISK = Path("/dev/shm")
"""A file system without disk waits: these tests check semantics, not durability."""


class PlayedQueue:
    """A queue and its engine. Calls raise what the service raises, except those that return a bool."""

    def __init__(self, *, is_fifo: bool, is_in_memory: bool) -> None:
        self.clock = ManualClock()
        self._rng = random.Random(1)
        self._runner = asyncio.Runner()
        self._folder = Path(tempfile.mkdtemp(dir=_NO_DISK if _NO_DISK.exists() else None))
        self._key = QueueName("000000000000", "queue.fifo" if is_fifo else "queue")
        memory = MemoryStore(self.clock)
        self._new_store: ReopenStore = (lambda: memory) if is_in_memory else self._sqlite
        self._engine = self._run(self._start())
        changes: dict[str, object] = {"visibility_ms": VISIBILITY_MS, "retention_ms": RETENTION_MS}
        self._run(queues.create(self._engine, self._key, changes | ({"is_fifo": True} if is_fifo else {}), {}))

    @property
    def now_ms(self) -> int:
        return self.clock.now_ms()

    def send(self, drafts: Sequence[Draft]) -> list[send.Sent]:
        answers = self._run(send.send_batch(self._engine, self._queue, drafts, "sender"))
        assert all(isinstance(answer, send.Sent) for answer in answers), answers
        return [answer for answer in answers if isinstance(answer, send.Sent)]

    def receive(self, count_max: int, visibility_ms: int | None) -> list[Delivery]:
        request = receive.ReceiveRequest(count_max=count_max, visibility_ms=visibility_ms)
        return self._run(receive.receive(self._engine, self._queue, request, lambda: True))

    def give_back(self, deliveries: Sequence[Delivery]) -> None:
        self._run(receive.give_back(self._engine, self._queue, deliveries))

    def delete(self, handle: str) -> bool:
        """Whether it was allowed."""
        return self._is_allowed(delete.delete(self._engine, self._queue, handle))

    def change_visibility(self, handle: str, timeout_ms: int) -> bool:
        """Whether it was allowed."""
        return self._is_allowed(visibility.change(self._engine, self._queue, handle, timeout_ms))

    def purge(self) -> None:
        self._run(queues.purge(self._engine, self._queue))

    def counts(self) -> Counts:
        return self._run(counting.counts(self._engine, self._queue))

    def advance_ms(self, by_ms: int) -> None:
        """Advances the time and reveals due messages."""
        self.clock.advance_ms(by_ms)
        self._run(self._reveal())

    def restart(self) -> None:
        self._run(self._stop())
        self._engine = self._run(self._start())
        self._run(self._reveal())

    def close(self) -> None:
        self._run(self._stop())
        self._runner.close()
        shutil.rmtree(self._folder)

    @property
    def _queue(self) -> Queue:
        return self._engine.registry.find(self._key)

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return self._runner.run(work)

    def _is_allowed(self, work: Coroutine[Any, Any, None]) -> bool:
        try:
            self._run(work)
        except InvalidParameterValue:
            return False
        return True

    def _sqlite(self) -> Store:
        return SqliteStore(self._folder / "cqs.db", self.clock)

    async def _start(self) -> Engine:
        store = self._new_store()
        await store.open()
        engine = Engine(
            clock=self.clock,
            rng=self._rng,
            addresses=Addresses(self.clock, self._rng),
            cache=MemoryCache(self.clock, self._rng, BODY_BUDGET_BYTES),
            store=store,
            registry=Registry(),
            waiters=Waiters(),
            receipts=Receipts(await store.secret()),
            witness=RecordingWitness(),
            tuning=Tuning(is_purge_wait_on=False),
        )
        await residency.open_all(engine)
        return engine

    async def _stop(self) -> None:
        await self._engine.background.drain()
        await self._engine.store.close()

    async def _reveal(self) -> None:
        while await revisibility.step(self._engine):
            pass
