"""The backends that were chosen: where messages are stored, and where their hot state is kept.

    store    memory (--in-memory) │ Cassandra (--cassandra) │ SQLite
    cache    Redis (--redis, or --redis spawn for a private one) │ memory

One server process serves one set of queues: what it finds in Redis at its start may be older than the store, so it is
dropped and filled anew.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import TYPE_CHECKING

import structlog

from cqs.cache.bells import Bells, OneNode
from cqs.cache.interface import QueueCache, Shard
from cqs.cache.memory import MemoryCache
from cqs.cache.report import ServerReport
from cqs.clock import Clock
from cqs.cluster.breaker import Breaker
from cqs.cluster.ring import Ring
from cqs.config import Config
from cqs.config.backend_settings import Backends
from cqs.config.settings import Storage
from cqs.config.values import with_home
from cqs.errors import CannotStart
from cqs.spawn import PrivateRedis
from cqs.store.interface import Store
from cqs.store.memory import MemoryStore
from cqs.store.sqlite import SqliteStore

if TYPE_CHECKING:
    from cqs.cache.redis.bells import RedisBells
    from cqs.cache.redis.cache import RedisCache

_log = structlog.get_logger("cqs.backends")
_SPAWN = "spawn"


class CacheServers:
    """The cache, and what has to be started and ended with it."""

    def __init__(self, config: Config, clock: Clock, rng: random.Random) -> None:
        """Raises ConfigError, CannotStart. Starts a private Redis, if that was asked for."""
        wanted = config.backends
        self.spawned = PrivateRedis() if _SPAWN in wanted.redis else None
        self.is_redis = bool(wanted.redis)
        self._redis: RedisCache | None = None
        self._bells: RedisBells | None = None
        if wanted.redis:
            self._redis, self._bells = _redis_of(wanted, self.spawned, rng)
        self.bells: Bells = self._bells or OneNode()
        self.cache: QueueCache = self._redis or MemoryCache(clock, rng, config.storage.body_memory)

    async def start(self) -> None:
        """Connects. A server that can't be reached is tried again and again; its queues are served from the store."""
        if self._redis is not None:
            await self._redis.start()
        if self._bells is not None:
            await self._bells.start()
        if self._redis is not None:
            for server, report in (await self._redis.servers.reports()).items():
                for problem in report.problems:
                    _log.warning("redis_not_in_order", server=server, problem=problem)

    async def reports(self) -> dict[str, ServerReport]:
        """What each Redis server tells of itself, by its address."""
        return await self._redis.servers.reports() if self._redis is not None else {}

    def place(self, shard: Shard) -> str:
        """The address of the Redis server that the shard lives on; "" = the hot state is in this process."""
        return self._redis.servers.name_of(shard) if self._redis is not None else ""

    async def close(self) -> None:
        """Idempotent."""
        if self._bells is not None:
            await self._bells.close()
        if self._redis is not None:
            await self._redis.close()
        if self.spawned is not None:
            self.spawned.stop()


def store_of(config: Config, clock: Clock) -> Store:
    """The store, not opened yet. Raises CannotStart when its driver is not installed."""
    if config.storage.is_in_memory:
        return MemoryStore(clock)
    if config.backends.cassandra:
        return _cassandra_of(config.backends, clock)
    return SqliteStore(folder_of(config.storage), clock)


def store_name(config: Config) -> str:
    """What the store is called in metrics and pages."""
    if config.storage.is_in_memory:
        return "memory"
    return "cassandra" if config.backends.cassandra else "sqlite"


def place_of(config: Config) -> str:
    """Where the data lies, for people; "" = nowhere."""
    if config.storage.is_in_memory:
        return ""
    hosts = config.backends.cassandra
    return f"Cassandra at {', '.join(hosts)}" if hosts else str(folder_of(config.storage))


def folder_of(storage: Storage) -> Path:
    """The data folder."""
    return with_home(storage.data_dir).absolute()


def _cassandra_of(wanted: Backends, clock: Clock) -> Store:
    try:
        from cqs.store.cassandra import CassandraStore, Options
    except ImportError as error:
        raise CannotStart("the driver of Cassandra is not installed: pip install 'cqs-server[cassandra]'") from error
    options = Options(
        hosts=wanted.cassandra,
        port=wanted.cassandra_port,
        keyspace=wanted.cassandra_keyspace,
        datacenter=wanted.cassandra_datacenter,
        user=wanted.cassandra_user,
        password=wanted.cassandra_password,
    )
    return CassandraStore(options, clock)


def _places_of(wanted: Backends, spawned: PrivateRedis | None) -> list[str]:
    return [spawned.url if one == _SPAWN and spawned is not None else one for one in wanted.redis]


def _name_of(place: str) -> str:
    """The address without user and password."""
    return place.rpartition("@")[2]


def _redis_of(wanted: Backends, spawned: PrivateRedis | None, rng: random.Random) -> tuple[RedisCache, RedisBells]:
    try:
        from cqs.cache.redis import url
        from cqs.cache.redis.bells import RedisBells
        from cqs.cache.redis.cache import RedisCache
        from cqs.cache.redis.server import RedisServer
    except ImportError as error:
        raise CannotStart("the client of Redis is not installed: pip install 'cqs-server[redis]'") from error
    ca_file = wanted.redis_ca or None
    servers = {
        _name_of(place): RedisServer(url.parse(place, ca_file=ca_file), Breaker(rng), rng, wanted.redis_memory)
        for place in _places_of(wanted, spawned)
    }
    cache = RedisCache(servers, Ring({name: 1.0 for name in servers}).owner, rng)
    return cache, RedisBells(cache.servers, {name: server.address for name, server in servers.items()}, rng)
