"""Builds the chosen backends: the store for messages, and the cache for their hot state.

    store    memory (--in-memory) │ Cassandra (--cassandra) │ SQLite
    cache    Redis (--redis, or --redis spawn for a private one) │ memory

A node on Cassandra is one of those that share the keyspace, and needs Redis to share the hot state with them. Any other
node is alone.
"""

from __future__ import annotations

import os
import random
import socket
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import structlog

from cqs import __version__
from cqs.cache.bells import Bells, OneNode
from cqs.cache.interface import QueueCache, Shard
from cqs.cache.memory import MemoryCache
from cqs.cache.redis import check_client
from cqs.cache.report import ServerReport
from cqs.clock import Clock
from cqs.cluster.breaker import Breaker
from cqs.cluster.ring import Ring
from cqs.config import Config, Loaded
from cqs.config.backend_settings import Backends
from cqs.config.settings import Storage
from cqs.config.values import with_home
from cqs.errors import CannotStart, ConfigError, CqsError
from cqs.listen import url_elsewhere
from cqs.service.cluster import Cluster, alone, joined
from cqs.spawn import PrivateRedis
from cqs.store.coordination import Node
from cqs.store.interface import Store
from cqs.store.memory import MemoryStore
from cqs.store.report import StoreReport
from cqs.store.sqlite.files import files_of
from cqs.store.sqlite.schema import FILE_NAME
from cqs.store.sqlite.store import SqliteStore

if TYPE_CHECKING:
    from cqs.cache.redis.bells import RedisBells
    from cqs.cache.redis.cache import RedisCache
    from cqs.store.cassandra import Options

_log = structlog.get_logger("cqs.backends")
_SPAWN = "spawn"


class CacheServers:
    """The cache, and everything that must be started and stopped with it."""

    def __init__(self, config: Config, clock: Clock, rng: random.Random) -> None:
        """Call in the event loop. Starts a private Redis if configured. Raises ConfigError, CannotStart."""
        wanted = config.backends
        self.spawned = PrivateRedis().watched() if _SPAWN in wanted.redis else None
        self.is_redis = bool(wanted.redis)
        self._redis: RedisCache | None
        self._bells: RedisBells | None
        try:
            self._redis, self._bells = _redis_of(wanted, self.spawned, rng) if wanted.redis else (None, None)
        except CqsError:
            if self.spawned is not None:
                self.spawned.stop()
            raise
        self.listed = self._redis.servers.listed if self._redis is not None else None
        self.bells: Bells = self._bells or OneNode()
        self.cache: QueueCache = self._redis or MemoryCache(clock, rng, config.storage.body_memory)
        self.short: Callable[[], Sequence[str]] = self._redis.servers.short if self._redis is not None else tuple
        """The addresses of Redis servers that have little or no memory left."""

    async def start(self) -> None:
        """Connects. An unreachable server is retried in the background; its queues are served from the store
        meanwhile."""
        if self._redis is not None:
            await self._redis.start()
        if self._bells is not None:
            await self._bells.start()
        for server, report in (await self.reports()).items():
            for problem in report.problems:
                _log.warning("redis_not_in_order", server=server, problem=problem)

    def in_trouble(self) -> int:
        """How many Redis servers can't serve their queues, or only in part."""
        return self._redis.servers.in_trouble() if self._redis is not None else 0

    async def reports(self) -> dict[str, ServerReport]:
        """The status of each Redis server, by its address."""
        return await self._redis.servers.reports() if self._redis is not None else {}

    def place(self, shard: Shard) -> str:
        """The address of the Redis server that holds the shard; "" = the hot state is in this process."""
        return self._redis.servers.name_of(shard) if self._redis is not None else ""

    def lost(self) -> list[str]:
        """The addresses of Redis servers that can't be reached now."""
        return self._redis.servers.lost() if self._redis is not None else []

    async def close(self) -> None:
        """Idempotent."""
        if self._bells is not None:
            await self._bells.close()
        if self._redis is not None:
            await self._redis.close()
        if self.spawned is not None:
            self.spawned.stop()


def private_redis_of(config: Config) -> PrivateRedis | None:
    """The private Redis, started, if configured. For the parent of workers. Raises CannotStart."""
    return PrivateRedis() if _SPAWN in config.backends.redis else None


def with_places(loaded: Loaded[Config], spawned: PrivateRedis | None) -> Loaded[Config]:
    """The settings with the address of the running private Redis in place of "spawn"."""
    wanted = replace(loaded.config.backends, redis=tuple(_places_of(loaded.config.backends, spawned)))
    return replace(loaded, config=replace(loaded.config, backends=wanted))


def store_of(config: Config, clock: Clock) -> Store:
    """The store, not opened yet. Raises CannotStart if its driver is not installed, ConfigError if two are
    configured."""
    if config.storage.is_in_memory:
        if config.backends.cassandra:
            raise ConfigError("in_memory: keeps messages in memory, but cassandra is also given; choose one")
        return MemoryStore(clock)
    if config.backends.cassandra:
        options = cassandra_options(config.backends)
        from cqs.store.cassandra import CassandraStore

        return CassandraStore(options, clock)
    has_writer_process = config.backends.sqlite_writer == "process"
    return SqliteStore(folder_of(config.storage), clock, has_writer_process=has_writer_process)


def cluster_of(config: Config, store: Store, cache: CacheServers, clock: Clock, rng: random.Random) -> Cluster:
    """This node and its peers, which share its store; a node with its own store is alone."""
    if not config.backends.cassandra:
        return alone(clock, place=cache.place, short=cache.short)
    from cqs.store.cassandra import CassandraStore
    from cqs.store.cassandra.coordination import CassandraCoordination

    assert isinstance(store, CassandraStore)
    listening, clustering, now_ms = config.listening, config.clustering, clock.now_ms()
    home = store.session.datacenter if len(store.datacenters) > 1 else ""
    me = Node(
        name=clustering.node_name or f"{socket.gethostname()}:{listening.port or os.getpid()}",
        url=clustering.node_url or listening.public_url or url_elsewhere(listening),
        started_ms=now_ms,
        beat_ms=now_ms,
        version=__version__,
    )
    return joined(
        CassandraCoordination(store.session, clock),
        clock,
        me,
        f"{rng.getrandbits(64):x}",
        datacenter=home,
        far=[one for one in store.datacenters if home and one != home],
        is_cache_shared=cache.is_redis and cache.spawned is None,
        place=cache.place,
        lost=cache.lost,
        listed=cache.listed,
        short=cache.short,
        deep_scan=store.deep_scan,
        certain=store.takeovers.certain,
        seek=store.takeovers.seek,
    )


def store_report(config: Config, store: Store) -> StoreReport:
    """Where the data of an open store is, as currently known; makes no calls."""
    if config.storage.is_in_memory:
        return StoreReport()
    if not config.backends.cassandra:
        return StoreReport(files=files_of(folder_of(config.storage) / FILE_NAME))
    from cqs.store.cassandra import CassandraStore

    assert isinstance(store, CassandraStore)
    return StoreReport(hosts=store.session.hosts())


def store_name(config: Config) -> str:
    """The store's name in metrics and pages."""
    if config.storage.is_in_memory:
        return "memory"
    return "cassandra" if config.backends.cassandra else "sqlite"


def place_of(config: Config) -> str:
    """Where the data is, for display; "" = nowhere."""
    if config.storage.is_in_memory:
        return ""
    hosts = config.backends.cassandra
    return f"Cassandra at {', '.join(hosts)}" if hosts else str(folder_of(config.storage))


def folder_of(storage: Storage) -> Path:
    """The data folder. Raises ConfigError if it is in a home and this user has none."""
    try:
        return with_home(storage.data_dir).absolute()
    except ValueError as error:
        raise ConfigError(f"data_dir: {storage.data_dir}: {error} Name another folder") from error


def cassandra_options(wanted: Backends) -> Options:
    """The connection options for the cluster. Raises CannotStart if its driver is not installed."""
    try:
        from cqs.store.cassandra import Options
    except ImportError as error:
        raise CannotStart("the Cassandra driver is not installed: pip install 'cqs-server[cassandra]'") from error
    return Options(
        hosts=wanted.cassandra,
        port=wanted.cassandra_port,
        keyspace=wanted.cassandra_keyspace,
        datacenter=wanted.cassandra_datacenter,
        is_each=wanted.cassandra_writes == "each",
        user=wanted.cassandra_user,
        password=wanted.cassandra_password,
    )


def _places_of(wanted: Backends, spawned: PrivateRedis | None) -> list[str]:
    return [spawned.url if one == _SPAWN and spawned is not None else one for one in wanted.redis]


def _redis_of(wanted: Backends, spawned: PrivateRedis | None, rng: random.Random) -> tuple[RedisCache, RedisBells]:
    check_client()
    from cqs.cache.redis import url
    from cqs.cache.redis.bells import RedisBells
    from cqs.cache.redis.cache import RedisCache
    from cqs.cache.redis.server import RedisServer
    from cqs.cache.redis.server_list import ServerList

    ca_file = wanted.redis_ca or None
    addresses = [url.parse(place, ca_file=ca_file) for place in _places_of(wanted, spawned)]
    servers = {url.name_of(one): RedisServer(one, Breaker(rng), rng, wanted.redis_memory) for one in addresses}
    owner = Ring({name: 1.0 for name in servers}).owner
    listed = ServerList(wanted.redis_list_version, list(servers), owner) if wanted.cassandra else None
    for name, server in servers.items():
        server.name, server.list = name, listed
    cache = RedisCache(servers, owner, rng)
    cache.servers.listed = listed
    return cache, RedisBells(cache.servers, {name: server.address for name, server in servers.items()}, rng)
