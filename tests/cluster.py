"""Several nodes in one process: engines of their own on one store, one cache, one cluster, and one clock.

town = Town()
a, b = await town.node("a"), await town.node("b")
queue = await a.create("orders")
await town.beat()                                   every node beats once
await town.kill("a")                                a beats no more, and its beats run out
"""

from __future__ import annotations

import random

import pytest

from cqs.cache.interface import Shard
from cqs.queue import Queue
from cqs.service import heartbeat, marking
from cqs.service.cluster import joined
from cqs.service.engine import shard_of
from cqs.service.lists import Listed
from cqs.service.membership import LIFE_MS
from cqs.store.coordination import MemoryCluster, MemoryCoordination, Node
from cqs.testing.clock import ManualClock
from cqs.testing.witness import RecordingWitness
from tests.engine import BODY_BUDGET_BYTES, Bench, FailingCache, FailingStore, make_bench

DATACENTERS = ("dc1", "dc2")
PLACE = "redis-1"
"""The name of the one cache server."""


def place_of(_: Shard) -> str:
    return PLACE


class Town:
    """What the nodes share."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.store = FailingStore(self.clock)
        self.cache = FailingCache(self.clock, random.Random(0), BODY_BUDGET_BYTES)
        self.caches: dict[str, FailingCache] = {}
        self.shared = MemoryCluster(self.clock)
        self.nodes: dict[str, Bench] = {}
        self.lost: dict[str, list[str]] = {}
        self._lives = 0

    def cache_of(self, datacenter: str) -> FailingCache:
        """Each data centre has its own."""
        if not datacenter:
            return self.cache
        if datacenter not in self.caches:
            self.caches[datacenter] = FailingCache(self.clock, random.Random(0), BODY_BUDGET_BYTES)
        return self.caches[datacenter]

    async def node(
        self, name: str, datacenter: str = "", *, is_cache_shared: bool = True, listed: Listed | None = None
    ) -> Bench:
        """A node that starts now; a namesake is its former life. `datacenter`: "" = there is one."""
        self._lives += 1
        now_ms = self.clock.now_ms()
        lost = self.lost[name] = []
        cluster = joined(
            MemoryCoordination(self.shared, datacenter or "dc1"),
            self.clock,
            Node(name=name, started_ms=now_ms, beat_ms=now_ms),
            str(self._lives),
            datacenter=datacenter,
            far=[one for one in DATACENTERS if datacenter and one != datacenter],
            is_cache_shared=is_cache_shared,
            place=place_of,
            lost=lambda: lost,
            listed=listed,
            deep_scan=self.store.scan,
            now_s=lambda: self.clock.now_ms() / 1_000,
        )
        bench = await make_bench(
            store=self.store,
            clock=self.clock,
            seed=self._lives,
            witness=RecordingWitness(),
            cache=self.cache_of(datacenter),
            cluster=cluster,
        )
        self.nodes[name] = bench
        return bench

    async def beat(self, *names: str) -> None:
        """One beat of these nodes, or of all."""
        for name in names or list(self.nodes):
            await heartbeat.step(self.nodes[name].engine)

    async def lose_cache(self, queue: Queue) -> None:
        """The shared cache is out of reach, and each node has made it known that it serves the queue from the store."""
        self.cache.cut()
        await self.make_known(queue, *self.nodes)

    async def make_known(self, queue: Queue, *names: str) -> None:
        """These nodes can't believe the cache about the queue, and all have looked and know it."""
        for name in names:
            await marking.is_known(self.nodes[name].engine, shard_of(queue))
        self.clock.advance_ms(round(marking.FRESH_S * 1_000))
        await self.beat()

    async def kill(self, name: str) -> None:
        """The node ends without a word, and the others have noticed."""
        del self.nodes[name]
        self.clock.advance_ms(LIFE_MS)
        await self.beat()


class Cut:
    """Cuts one node off from the shared cache, with its own view of it."""

    def __init__(self, town: Town, name: str) -> None:
        self._town, self._name = town, name
        self.bench = town.nodes[name]
        self._whole = self.bench.engine.cache

    def cut(self, *, is_known: bool = True) -> None:
        """`is_known`: the node has noticed."""
        away = FailingCache.__new__(FailingCache)
        away.__dict__.update(self._town.cache.__dict__)
        away.cut()
        object.__setattr__(self.bench.engine, "cache", away)
        if is_known:
            self._town.lost[self._name].append(PLACE)

    def mend(self) -> None:
        object.__setattr__(self.bench.engine, "cache", self._whole)
        self._town.lost[self._name].clear()


async def two_nodes(queue: str = "orders") -> tuple[Town, Bench, Bench, Queue]:
    """Nodes a and b of a town, and a queue that both know."""
    town = Town()
    a, b = await town.node("a"), await town.node("b")
    made = await a.create(queue)
    await town.beat()
    return town, a, b, made


def waits_for_marks(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """From now on nobody waits for marks to be known: the waits are noted instead, in ms."""
    waits: list[int] = []

    async def pause(ms: int) -> None:
        waits.append(ms)

    monkeypatch.setattr("cqs.service.marking.pause_ms", pause)
    return waits
