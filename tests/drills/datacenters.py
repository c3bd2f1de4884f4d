"""A place with two data centres, each with an API node, a Redis and a Cassandra node that has a replica of everything.

    clients ──► dc1: API node, Redis ──► Cassandra node ◄══ copies ══► Cassandra node ◄── API node, Redis: dc2

Clients use one of them. `turn_to` switches, like a change in DNS or a load balancer: calls in progress finish where
they began. No connection goes through a link.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from cassandra import ConsistencyLevel
from cassandra.query import SimpleStatement

from cqs.clock import SystemClock
from cqs.store.cassandra import CassandraStore
from cqs.store.cassandra.cluster import make_cluster
from cqs.store.cassandra.session import Session
from cqs.store.interface import Store
from deploy.cluster.api_node import ApiNode
from tests.cassandra_server import Node, Ring
from tests.drills.place import Kind, Place
from tests.redis_server import RedisProcess

NAMES = ("dc1", "dc2")
_MARK = "drill"


class Datacenter:
    """The servers of one data centre."""

    def __init__(self, name: str, api: ApiNode, redis: RedisProcess, cassandra: Node, ring: Ring) -> None:
        self.name = name
        self.api = api
        self.redis = redis
        self.cassandra = cassandra
        self._ring = ring

    async def kill(self) -> None:
        """Kills all its servers at once."""
        ends = [self.api.kill, self.redis.stop, self.cassandra.kill]
        await asyncio.gather(*(asyncio.to_thread(end) for end in ends))

    async def start_cassandra(self) -> None:
        """Starts the Cassandra node and waits until it answers."""
        self.cassandra.launch(self._ring.tuning)
        await asyncio.to_thread(self.cassandra.wait)

    @property
    def has_hints(self) -> bool:
        """Whether its Cassandra node has files of hints that it has not delivered completely."""
        return any((self.cassandra.folder / "hints").glob("*.hints"))

    async def start_servers(self) -> None:
        """Starts Redis, which is empty, and the API node, and waits until both answer."""
        await asyncio.to_thread(self.redis.start)
        await asyncio.to_thread(self.api.start)


class Watch:
    """Reads the state of one data centre's Cassandra."""

    def __init__(self, session: Session, keyspace: str) -> None:
        self._session = session
        self._keyspace = keyspace

    async def homes(self) -> Counter[str]:
        """Counts the queues that have their home in each data centre."""
        rows = await self._session.ask(f"SELECT datacenter FROM {self._keyspace}.homes")
        return Counter(str(row[0]) for row in rows)

    async def mark(self) -> None:
        """Writes a row that only this looks for. While the other data centre is gone, its hint is the last one so far:
        a node delivers hints in the order in which it made them."""
        await self._session.ask(f"INSERT INTO {self._keyspace}.meta (name, value) VALUES ('{_MARK}', '')")

    async def is_marked(self) -> bool:
        """Whether this data centre has that row."""
        return bool(await self._session.ask(f"SELECT value FROM {self._keyspace}.meta WHERE name = '{_MARK}'"))


class TwoDatacenters(Place):
    """Use it with `async with`; traffic begins in dc1."""

    def __init__(self, rng: random.Random, ring: Ring) -> None:
        super().__init__(Kind.TWO_DATACENTERS, rng, nodes=len(NAMES), ring=ring)
        assert self.redis is not None
        self._redis = {NAMES[0]: self.redis, NAMES[1]: RedisProcess()}
        self._traffic = NAMES[0]

    def ports(self) -> list[int]:
        """Returns the port of the API node that has the traffic."""
        return [self.nodes[NAMES.index(self._traffic)].port]

    def turn_to(self, name: str) -> None:
        """Sends attempts that begin from now on to that data centre."""
        self._traffic = name

    def datacenter(self, name: str) -> Datacenter:
        assert self.ring is not None
        number = NAMES.index(name)
        return Datacenter(name, self.nodes[number], self._redis[name], self.ring.nodes[number], self.ring)

    @asynccontextmanager
    async def watch(self, name: str) -> AsyncIterator[Watch]:
        session = Session(replace(self._options(), datacenter=name))
        await session.connect()
        try:
            yield Watch(session, self._keyspace)
        finally:
            await session.close()

    async def rows_left(self, names: Sequence[str]) -> dict[str, int]:
        """Like `Place.rows_left`, after a repair, which an operator runs when a data centre is back (`nodetool
        repair`): a delete that dc1 had not replicated when it was killed leaves a row in dc2, which dc1, the home,
        rightly never delivers. Returns the higher count of the two data centres for each queue."""
        await asyncio.to_thread(self._make_copies_one)
        left = [await self._rows_left_in(store, names) for store in map(self._store_in, NAMES)]
        return {name: max(rows[name] for rows in left) for name in names}

    def _make_copies_one(self) -> None:
        """Reads all messages at consistency ALL, so that read repair writes to each replica what it lacks."""
        cluster = make_cluster(replace(self._options(), datacenter=NAMES[0]))
        try:
            everything = f"SELECT queue_id, row, at FROM {self._keyspace}.messages"
            read = SimpleStatement(everything, consistency_level=ConsistencyLevel.ALL, fetch_size=1_000)
            list(cluster.connect().execute(read, timeout=60.0))
        finally:
            cluster.shutdown()

    def _store_in(self, name: str) -> Store:
        return CassandraStore(replace(self._options(), datacenter=name), SystemClock())

    def _copies(self) -> dict[str, int]:
        return dict.fromkeys(NAMES, 1)

    async def _start(self) -> None:
        far = self._redis[NAMES[1]]
        self._stack.callback(far.__exit__)
        await asyncio.to_thread(far.start)
        await super()._start()

    async def _flags(self, folder: Path) -> list[str]:
        assert self.ring is not None
        number = len(self.nodes)
        flags = ["--redis", self._redis[NAMES[number]].url, "--cassandra", self.ring.nodes[number].address]
        flags += ["--cassandra-port", str(self.ring.port), "--cassandra-datacenter", NAMES[number]]
        return [*flags, "--cassandra-keyspace", self._keyspace]
