"""A Redis cache on real servers, for tests of faults between them."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import redis

from cqs.cache.interface import Shard
from cqs.cache.redis.cache import RedisCache
from cqs.cache.redis.server import RedisServer
from cqs.cluster.ring import Ring
from cqs.testing.clock import ManualClock
from tests.contract.cache_bench import CacheBench
from tests.redis_server import RedisProcess

SHARD, FIFO = Shard(1 << 60 | 5), Shard(1 << 60 | 6, is_fifo=True)


def admin_of(process: RedisProcess) -> redis.Redis:
    """A Redis client with full access to the server."""
    return redis.Redis(unix_socket_path=process.path)


@asynccontextmanager
async def cache_on(
    *servers: RedisServer, clock: ManualClock | None = None, keep_ms: int = 3_600_000
) -> AsyncIterator[RedisCache]:
    """Starts a cache, and closes it at the end. Servers are named by their address. With `clock`, it uses that time."""
    by_name = {str(server.address): server for server in servers}
    ring = Ring(dict.fromkeys(by_name, 1))
    now_ms = None if clock is None else clock.now_ms
    cache = RedisCache(by_name, ring.owner, random.Random(), keep_ms=keep_ms, now_ms=now_ms)
    await cache.start()
    try:
        yield cache
    finally:
        await cache.close()


def bench_on(cache: RedisCache, clock: ManualClock, shard: Shard) -> CacheBench:
    """A `CacheBench` for one shard, on the clock's time."""

    async def advance(by_ms: int) -> None:
        clock.advance_ms(by_ms)

    return CacheBench(cache, shard, clock.now_ms, advance)
