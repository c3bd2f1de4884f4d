"""Where a drill runs: real processes of CQS, Redis and Cassandra, and the links between them.

    EMBEDDED           one node on SQLite
    REDIS_SQLITE       one node, a Redis, SQLite
    REDIS_CASSANDRA    nodes, a Redis, a Cassandra node
    RING               nodes, a Redis, a ring of three Cassandra nodes (RF 3)
    TWO_DATACENTERS    a node, a Redis and a Cassandra node in each: `tests.drills.datacenters`

Connections to Redis and to a single Cassandra node go through a `tests.drills.link`, unless `is_linked` is false for
Redis (drills with a second Redis). Each node has its own link to Redis; `#redis` in its URL names the shared server.
"""

from __future__ import annotations

import asyncio
import random
import secrets
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from enum import StrEnum
from pathlib import Path

from cqs.clock import SystemClock
from cqs.ids import Addresses
from cqs.message import Message
from cqs.queue import Queue
from cqs.store.cassandra import CassandraStore, Options, schema
from cqs.store.interface import Store
from cqs.store.sqlite.store import SqliteStore
from deploy.cluster.api_node import ApiNode
from deploy.cluster.ports import free_ports
from tests.cassandra_server import Ring, options_of
from tests.drills.link import End, Link
from tests.redis_server import RedisProcess

DISK_BYTES = 64_000_000


class Kind(StrEnum):
    EMBEDDED = "embedded"
    REDIS_SQLITE = "redis + sqlite"
    REDIS_CASSANDRA = "redis + cassandra"
    RING = "redis + ring of three"
    TWO_DATACENTERS = "two data centres"


RING_OF: dict[Kind, tuple[str, ...]] = {
    Kind.REDIS_CASSANDRA: ("dc1",),
    Kind.RING: ("dc1", "dc1", "dc1"),
    Kind.TWO_DATACENTERS: ("dc1", "dc2"),
}
"""The data centre of each Cassandra node the place needs. Kinds that are missing here need no Cassandra."""
_BURIED_AT_ONCE = 500


class Place:
    """Use it with `async with`. All drills of a run share `ring`, and each has its own keyspace in it. Two drills with
    the same seed must not share one: the second's FIFO sends would be dropped as duplicates of the first's."""

    def __init__(
        self,
        kind: Kind,
        rng: random.Random,
        *,
        nodes: int = 1,
        ring: Ring | None = None,
        is_small_disk: bool = False,
        is_linked: bool = True,
        is_balanced: bool = False,
        servers: int = 1,
        flags: Sequence[str] = (),
    ) -> None:
        self.kind = kind
        self.folder = Path(tempfile.mkdtemp(prefix="cqs-drill-"))
        self.ring = ring if kind in RING_OF else None
        self.redis = None if kind is Kind.EMBEDDED else RedisProcess()
        self._servers = servers
        self._own_flags = flags
        self.redis_links: list[Link] = []
        self.cassandra_links: list[Link] = []
        self.client_links: list[Link] = []
        self.nodes: list[ApiNode] = []
        self.more_redis: list[RedisProcess] = []
        self.data_dir = self.folder / "node0"
        self._keyspace = f"drill_{rng.getrandbits(40):010x}_{secrets.token_hex(4)}"
        self._rng = rng
        self._count = nodes
        self._is_small_disk = is_small_disk
        self.is_linked = is_linked
        self._is_balanced, self._turn = is_balanced, 0
        self._stack = AsyncExitStack()

    def ports(self) -> list[int]:
        """Returns the ports on which clients reach the API nodes. If balanced, the next one is first at each call."""
        ports = [link.near.port for link in self.client_links] or [node.port for node in self.nodes]
        self._turn += self._is_balanced
        return [ports[(self._turn + place) % len(ports)] for place in range(len(ports))]

    async def __aenter__(self) -> Place:
        try:
            await self._start()
        except BaseException:
            await self.close()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Stops everything that was started here and removes its data. Idempotent."""
        await self._stack.aclose()
        await asyncio.to_thread(shutil.rmtree, self.folder, ignore_errors=True)

    async def start_redis(self) -> RedisProcess:
        """Starts another Redis server, which the nodes do not know."""
        redis = RedisProcess()
        self._stack.callback(redis.__exit__)
        await asyncio.to_thread(redis.start)
        self.more_redis.append(redis)
        return redis

    async def add_redis(self, *, is_instead: bool = False) -> None:
        """Starts another Redis server; nodes use it from their next start. `is_instead`: it replaces the first one in
        their list."""
        redis = await self.start_redis()
        for node in self.nodes:
            if is_instead:
                at = node.arguments.index("--redis")
                del node.arguments[at : at + 2]
            node.arguments += ["--redis", redis.url, "--redis-list-version", str(1 + len(self.more_redis))]

    async def append(self, bodies: Mapping[str, str], *, tombstones: int = 0) -> None:
        """Writes a message for each queue directly to the store, without Redis or a node. `tombstones`: how many
        deleted messages precede it in its row."""
        store, clock = self._store(), SystemClock()
        addresses = Addresses(clock, self._rng)
        await store.open()
        try:
            for queue in await store.queues():
                if queue.name not in bodies:
                    continue
                for count in range(tombstones, 0, -_BURIED_AT_ONCE):
                    await _bury(store, queue, addresses, min(count, _BURIED_AT_ONCE))
                address = addresses.next(1 if tombstones else store.rows)
                message = Message(address=address, body=bodies[queue.name], sent_ms=clock.now_ms())
                await store.append(queue, [message])
        finally:
            await store.close()

    async def rows_left(self, names: Sequence[str]) -> dict[str, int]:
        """Counts each queue's messages by reading the store directly. On SQLite the server must be stopped first."""
        return await self._rows_left_in(self._store(), names)

    async def _rows_left_in(self, store: Store, names: Sequence[str]) -> dict[str, int]:
        await store.open()
        try:
            queues = {queue.name: queue for queue in await store.queues()}
            return {name: sum([len(page) async for page in store.scan(queues[name])]) for name in names}
        finally:
            await store.close()

    async def stop_nodes(self) -> None:
        """Stops the nodes as an operator does. Raises AssertionError if one does not exit with 0."""
        for node in self.nodes:
            code = await asyncio.to_thread(node.stop)
            assert code == 0, f"{node.name} ended with {code}: {node.end_of_log()}"

    def _store(self) -> Store:
        if self.ring is None:
            return SqliteStore(self.data_dir, SystemClock())
        return CassandraStore(self._options(), SystemClock())

    def _options(self) -> Options:
        assert self.ring is not None
        return options_of(self.ring, self._keyspace)

    def _copies(self) -> dict[str, int]:
        return {"dc1": 3} if self.kind is Kind.RING else {}

    async def _start(self) -> None:
        if self.redis is not None:
            self._stack.callback(self.redis.__exit__)
            await asyncio.to_thread(self.redis.start)
            for _ in range(1, self._servers):
                await self.start_redis()
        if self.ring is not None:
            await schema.apply(self._options(), self._copies())
        for number, port in enumerate(free_ports(["127.0.0.1"], self._count)):
            folder = self.folder / f"node{number}"
            if self._is_small_disk:
                await self._mount(folder)
            else:
                folder.mkdir()
            node = ApiNode(folder.name, folder, port, await self._flags(folder))
            self.nodes.append(node)
            self._stack.callback(node.kill)
            await asyncio.to_thread(node.launch)
        await asyncio.gather(*(asyncio.to_thread(node.wait) for node in self.nodes))

    async def _mount(self, folder: Path) -> None:
        """Mounts a tmpfs of DISK_BYTES on the folder. Needs root."""
        await asyncio.to_thread(folder.mkdir)
        await _run("mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "tmpfs", str(folder))
        self._stack.push_async_callback(_run, "umount", str(folder))

    async def _flags(self, folder: Path) -> list[str]:
        flags = [*self._own_flags]
        if self.redis is not None and not self.is_linked:
            flags += [word for redis in (self.redis, *self.more_redis) for word in ("--redis", redis.url)]
        elif self.redis is not None:
            link = await self.linked(End(path=str(folder / "redis.sock")), End(path=self.redis.path))
            self.redis_links.append(link)
            flags += ["--redis", f"unix://{link.near.path}#redis"]
        if self.ring is not None:
            flags += ["--cassandra-keyspace", self._keyspace, *await self._cassandra_flags()]
        return flags

    async def _cassandra_flags(self) -> list[str]:
        """A single node is reached through a link. A ring is not: the driver discovers its nodes itself."""
        assert self.ring is not None
        if len(self.ring.nodes) > 1:
            hosts = [word for host in self.ring.contact_points for word in ("--cassandra", host)]
            return [*hosts, "--cassandra-port", str(self.ring.port)]
        far = End(host=self.ring.nodes[0].address, port=self.ring.port)
        link = await self.linked(End(host="127.0.0.1"), far)
        self.cassandra_links.append(link)
        return ["--cassandra", link.near.host, "--cassandra-port", str(link.near.port)]

    async def linked(self, near: End, far: End) -> Link:
        """Starts a link, which stops with the place."""
        link = Link(near, far, self._rng)
        await link.start()
        self._stack.push_async_callback(link.stop)
        return link


async def _bury(store: Store, queue: Queue, addresses: Addresses, count: int) -> None:
    """Stores and deletes `count` messages in the first row."""
    buried = [addresses.next(1) for _ in range(count)]
    await store.append(queue, [Message(address=address, body="buried", sent_ms=0) for address in buried])
    await store.delete(queue, buried)


async def _run(*words: str) -> None:
    process = await asyncio.create_subprocess_exec(*words)
    assert await process.wait() == 0, " ".join(words)
