"""The environment in which the consistency hint is measured: nodes in one process, one store, no cache, simulated time.

Each store call takes a random time, drawn from the seed separately for request and response, so other nodes may
interleave at every await. The receives and deletes are the service's own.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from itertools import islice

from benchmarks.simulated import LoopClock
from cqs.cache.entry import Entry
from cqs.cache.interface import Residency, Shard, Taken, TakeRequest
from cqs.cache.memory import MemoryCache
from cqs.errors import CacheUnavailable
from cqs.events import NullWitness
from cqs.ids import Addresses
from cqs.message import Message
from cqs.queue import Queue
from cqs.receipt import Receipts
from cqs.service.cluster import joined
from cqs.service.engine import Engine
from cqs.service.hints import Hints
from cqs.service.long_poll import Waiters
from cqs.service.registry import Registry
from cqs.store.coordination import MemoryCluster, MemoryCoordination, Node
from cqs.store.interface import Lease
from cqs.store.memory import MemoryStore

WAY_MS = (0.2, 1.5)
"""Bounds of the one-way latency to or from the store."""


class FarStore(MemoryStore):
    """A store whose calls, as far as receives and deletes use them, have latency."""

    def __init__(self, clock: LoopClock, rng: random.Random) -> None:
        super().__init__(clock)
        self._rng = rng

    async def _way(self) -> None:
        await asyncio.sleep(self._rng.uniform(*WAY_MS) / 1_000)

    async def occupied(self, queue: Queue, rows: Sequence[int]) -> list[int]:
        await self._way()
        found = await super().occupied(queue, rows)
        await self._way()
        return found

    async def head(self, queue: Queue, row: int, limit: int) -> list[Message]:
        """Like the memory store's `head`, but without sorting: the messages were appended in order."""
        await self._way()
        found = list(islice(self._messages.get(queue.storage_id, {}).values(), limit))
        await self._way()
        return found

    async def leases(self, queue: Queue, addresses: Sequence[int]) -> list[Lease | None]:
        await self._way()
        found = await super().leases(queue, addresses)
        await self._way()
        return found

    async def read(self, queue: Queue, addresses: Sequence[int]) -> list[Message]:
        await self._way()
        found = await super().read(queue, addresses)
        await self._way()
        return found

    async def lease(self, queue: Queue, leases: Sequence[Lease]) -> None:
        await self._way()
        await super().lease(queue, leases)
        await self._way()

    async def delete(self, queue: Queue, addresses: Sequence[int]) -> None:
        await self._way()
        await super().delete(queue, addresses)
        await self._way()


class NoCache(MemoryCache):
    """A cache that no node can reach."""

    async def take(self, shard: Shard, request: TakeRequest) -> Taken:
        raise CacheUnavailable("no cache in this measurement")

    async def put(self, shard: Shard, entries: Sequence[Entry], epoch: int | None = None) -> Residency:
        raise CacheUnavailable("no cache in this measurement")

    async def remove(self, shard: Shard, addresses: Sequence[int]) -> int:
        raise CacheUnavailable("no cache in this measurement")


class CountedHints(Hints):
    """Counts the takes that lost a message to another node, and records K."""

    collisions = 0

    def __init__(self) -> None:
        super().__init__()
        self.widths: list[int] = []

    def width(self, shard: Shard, wish: int, others: int, now_ms: int) -> int:
        k = super().width(shard, wish, others, now_ms)
        self.widths.append(k)
        return k

    def collided(self, shard: Shard, others: int, now_ms: int) -> None:
        self.collisions += 1
        super().collided(shard, others, now_ms)


async def make_nodes(count: int, rng: random.Random) -> list[Engine]:
    """Creates nodes that know each other and serve."""
    clock, shared = LoopClock(), MemoryCluster(LoopClock())
    store = FarStore(clock, rng)
    await store.open()
    secret = await store.secret()
    engines = [_engine(store, MemoryCoordination(shared), f"node-{at}", clock, rng, secret) for at in range(count)]
    for engine in engines:
        engine.cluster.membership.open()
        await engine.cluster.membership.beat()
    for engine in engines:
        await engine.cluster.membership.beat()
    return engines


def _engine(
    store: FarStore,
    coordination: MemoryCoordination,
    name: str,
    clock: LoopClock,
    rng: random.Random,
    secret: bytes,
) -> Engine:
    now_ms, own = clock.now_ms(), random.Random(rng.getrandbits(64))
    return Engine(
        clock=clock,
        rng=own,
        addresses=Addresses(clock, own),
        cache=NoCache(clock, own, 1),
        store=store,
        registry=Registry(),
        waiters=Waiters(),
        receipts=Receipts(secret),
        witness=NullWitness(),
        cluster=joined(coordination, clock, Node(name=name, started_ms=now_ms, beat_ms=now_ms), name),
        hints=CountedHints(),
    )
