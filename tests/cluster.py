"""Several nodes in one process: each has its own engine; they share a store, a cache, a cluster, and a clock.

town = Town()
a, b = await town.node("a"), await town.node("b")
queue = await a.create("orders")
await town.beat()                                   every node sends one heartbeat
await town.kill("a")                                a sends no more heartbeats, and its last one expires
"""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable

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
        """Returns the cache of a data centre; each has its own."""
        if not datacenter:
            return self.cache
        if datacenter not in self.caches:
            self.caches[datacenter] = FailingCache(self.clock, random.Random(0), BODY_BUDGET_BYTES)
        return self.caches[datacenter]

    def pause_of(self, name: str) -> Callable[[int], Awaitable[None]]:
        """Returns a pause during which that node's beats go on, and all others are stopped."""

        async def pause(duration_ms: int) -> None:
            self.clock.advance_ms(duration_ms)
            await self.beat(name)

        return pause

    async def node(
        self, name: str, datacenter: str = "", *, is_cache_shared: bool = True, listed: Listed | None = None
    ) -> Bench:
        """Starts a node; an earlier node of the same name is its previous incarnation. `datacenter`: "" = there is only
        one."""
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
        """Sends one heartbeat from each of these nodes, or from all."""
        for name in names or list(self.nodes):
            await heartbeat.step(self.nodes[name].engine)

    async def lose_cache(self, queue: Queue) -> None:
        """Makes the shared cache unreachable; each node has announced that it serves the queue from the store."""
        self.cache.cut()
        await self.make_known(queue, *self.nodes)

    async def make_known(self, queue: Queue, *names: str) -> None:
        """These nodes mark the queue's cache contents as unreliable, and all nodes have read the marks."""
        for name in names:
            await marking.is_known(self.nodes[name].engine, shard_of(queue))
        self.clock.advance_ms(round(marking.FRESH_S * 1_000))
        await self.beat()

    async def kill(self, name: str) -> None:
        """The node dies without notice, and the other nodes have detected it."""
        del self.nodes[name]
        self.clock.advance_ms(LIFE_MS)
        await self.beat()


class Cut:
    """Makes the shared cache unreachable for one node only."""

    def __init__(self, town: Town, name: str) -> None:
        self._town, self._name = town, name
        self.bench = town.nodes[name]
        self._whole = self.bench.engine.cache

    def cut(self, *, is_known: bool = True) -> None:
        """`is_known`: the node has detected it."""
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
    """From now on nodes do not wait until their marks are known. Returns the list of waits skipped, in ms."""
    waits: list[int] = []

    async def pause(ms: int) -> None:
        waits.append(ms)

    monkeypatch.setattr("cqs.service.marking.pause_ms", pause)
    return waits
