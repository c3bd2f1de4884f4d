"""An address that can be moved from one Redis server to another, and nodes that use it."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from cqs.cache.interface import Residency, Shard
from cqs.cache.redis.cache import RedisCache
from cqs.cache.redis.connection import Address
from cqs.cache.redis.server import RedisServer
from cqs.cache.redis.server_list import ServerList
from cqs.cluster.breaker import Breaker
from tests.redis_server import RedisProcess

SHARD = Shard(1 << 60 | 5)
NAME = "cache"


def point(address: Path, process: RedisProcess) -> None:
    address.unlink(missing_ok=True)
    address.symlink_to(process.path)


@asynccontextmanager
async def node(
    address: Path, seed: int = 0, version: int = 1, listed: ServerList | None = None
) -> AsyncIterator[RedisCache]:
    """A node that checks the server only when it connects."""
    rng = random.Random(seed)
    server = RedisServer(Address(path=str(address)), Breaker(rng), rng, 1 << 30, timeout_s=60, name=NAME)
    server.list = listed or ServerList(version, [NAME], lambda _: NAME, let_go_ms=1)
    cache = RedisCache({NAME: server}, lambda _: NAME, rng)
    await cache.start()
    assert server._looks is not None
    server._looks.cancel()
    try:
        yield cache
    finally:
        await cache.close()


def server_of(cache: RedisCache) -> RedisServer:
    server = cache.server_of(SHARD)
    assert isinstance(server, RedisServer)
    return server


async def reconnect(*caches: RedisCache) -> None:
    for cache in caches:
        server_of(cache).link.give_up("by the test")
        async with asyncio.timeout(60):
            while not await server_of(cache).regained():
                pass


async def residency(cache: RedisCache) -> Residency:
    return (await cache.state(SHARD)).residency


async def fill(cache: RedisCache) -> None:
    epoch = await cache.begin_fill(SHARD, 60_000)
    assert epoch is not None
    assert await cache.fill(SHARD, epoch, [], is_last=True)
