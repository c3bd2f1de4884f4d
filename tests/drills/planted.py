"""An in-process server with planted bugs. Each is a bug that a queue could really have.

drop one in N          a message is in the store, but never reaches the cache
acknowledge early      a send is acknowledged before the commit; a crash loses what was not written
delete in memory       a delete is acknowledged but never reaches the store
wake up late           a message stays hidden for some seconds after its visibility timeout
push before hide       a message becomes visible again while it is being delivered
reuse a handle         a response contains the receipt handle of another message
forget the group       each message of a FIFO group is delivered as if it had a group of its own
damage a body          one bit of a body is flipped
"""

from __future__ import annotations

import asyncio
import random
import socket
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import msgspec

from cqs.api.access import OpenAccess
from cqs.api.app import App
from cqs.api.dispatch import Dispatcher
from cqs.api.http.bounds import Bounds
from cqs.api.origins import Origins
from cqs.api.request_ids import RequestIds
from cqs.api.urls import BaseUrls
from cqs.cache.entry import Entry
from cqs.cache.interface import Residency, Revealed, Shard, Taken, TakeRequest
from cqs.cache.memory import MemoryCache
from cqs.clock import SystemClock
from cqs.ids import Addresses
from cqs.message import Message
from cqs.queue import Queue
from cqs.receipt import Receipt, Receipts
from cqs.service import residency, revisibility
from cqs.service.engine import Engine, shard_of
from cqs.service.long_poll import Waiters
from cqs.service.registry import Registry
from cqs.store.memory import MemoryStore
from cqs.testing.witness import RecordingWitness

ONE_IN, SLEEP_S = 40, 5.0
_BODY_BYTES = 1 << 26


class Dropping(MemoryCache):
    """Drop one in N."""

    count = 0

    async def put(self, shard: Shard, entries: Sequence[Entry], epoch: int | None = None) -> Residency:
        self.count += 1
        return await super().put(shard, [] if self.count % ONE_IN == 0 else entries, epoch)


class PushingFirst(MemoryCache):
    """Push before hide."""

    count = 0

    async def take(self, shard: Shard, request: TakeRequest) -> Taken:
        taken = await super().take(shard, request)
        if taken.received:
            self.count += 1
            if self.count % ONE_IN == 0:
                await self.give_back(shard, [one.ticket for one in taken.received])
        return taken


class Oversleeping(MemoryCache):
    """Wake up late."""

    awake_s = 0.0

    async def reveal(self, shard: Shard, retention_ms: int, limit: int) -> Revealed:
        if time.monotonic() < self.awake_s:
            return Revealed(0, [], None)
        self.awake_s = time.monotonic() + SLEEP_S
        return await super().reveal(shard, retention_ms, limit)


class Ungrouped(MemoryCache):
    """Forget the group."""

    async def put(self, shard: Shard, entries: Sequence[Entry], epoch: int | None = None) -> Residency:
        for entry in entries:
            if entry.group is not None:
                entry.group += str(entry.address)
        return await super().put(shard, entries, epoch)


class AcknowledgingEarly(MemoryStore):
    """Acknowledge early: each append is written only by the next one."""

    def __init__(self) -> None:
        super().__init__(SystemClock())
        self._pending: list[tuple[Queue, Sequence[Message]]] = []

    async def append(self, queue: Queue, messages: Sequence[Message]) -> None:
        self._pending.append((queue, messages))
        if len(self._pending) > 1:
            await super().append(*self._pending.pop(0))

    def crash(self) -> None:
        self._pending.clear()


class DeletingInMemory(MemoryStore):
    """Delete in memory."""

    count = 0

    def __init__(self) -> None:
        super().__init__(SystemClock())

    async def delete(self, queue: Queue, addresses: Sequence[int]) -> None:
        self.count += 1
        if self.count % ONE_IN:
            await super().delete(queue, addresses)


class Damaging(MemoryStore):
    """Damage a body."""

    count = 0

    def __init__(self) -> None:
        super().__init__(SystemClock())

    async def append(self, queue: Queue, messages: Sequence[Message]) -> None:
        self.count += 1
        if self.count % ONE_IN == 0:
            for message in messages:
                msgspec.structs.force_setattr(message, "body", message.body.replace("x", "y", 1))
        await super().append(queue, messages)


class Reusing(Receipts):
    """Reuse a handle."""

    count, last = 0, ""

    def write(self, receipt: Receipt) -> str:
        self.count += 1
        if not self.last or self.count % ONE_IN:
            self.last = super().write(receipt)
        return self.last


class PlantedServer:
    """Listens on a port of 127.0.0.1 within `serving`."""

    def __init__(self, engine: Engine, port: int) -> None:
        self.port = port
        self._engine = engine

    async def lose_cache(self) -> None:
        """Loses the cache and what the store had not written, like a crash."""
        store = self._engine.store
        if isinstance(store, AcknowledgingEarly):
            store.crash()
        for queue in self._engine.registry:
            await self._engine.cache.drop(shard_of(queue))
            await residency.fill(self._engine, queue)

    async def rows_left(self) -> dict[str, int]:
        engine = self._engine
        return {
            queue.name: sum([len(page) async for page in engine.store.scan(queue)]) for queue in engine.registry
        }  # fmt: skip


@asynccontextmanager
async def serving(
    store: MemoryStore | None = None,
    cache: type[MemoryCache] = MemoryCache,
    receipts: type[Receipts] = Receipts,
) -> AsyncIterator[PlantedServer]:
    clock, rng = SystemClock(), random.Random(1)
    store = store or MemoryStore(clock)
    await store.open()
    engine = Engine(
        clock=clock,
        rng=rng,
        addresses=Addresses(clock, rng),
        cache=cache(clock, rng, _BODY_BYTES),
        store=store,
        registry=Registry(),
        waiters=Waiters(),
        receipts=receipts(await store.secret()),
        witness=RecordingWitness(),
    )
    dispatcher = Dispatcher(engine, OpenAccess(), RequestIds(rng), origins=Origins(), base_urls=BaseUrls())
    app = App(dispatcher, bounds=Bounds())
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setblocking(False)
        await app.start([listener], stop_s_max=5.0)
        loop = asyncio.ensure_future(revisibility.run(engine))
        try:
            yield PlantedServer(engine, listener.getsockname()[1])
        finally:
            loop.cancel()
            engine.waiters.end_all()
            await app.stop()
