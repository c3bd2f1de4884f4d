"""The Redis cache passes the contract on a real Redis."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator

import pytest
import redis

from cqs.cache.interface import QueueCache
from cqs.cache.redis.cache import RedisCache
from cqs.testing.clock import ManualClock
from tests.contract import redis_keys
from tests.contract.cache_suite import CacheContract
from tests.needs import needs
from tests.redis_server import RedisProcess, server_at

pytestmark = needs("redis-server")


class TestRedisCache(CacheContract):
    @pytest.fixture
    async def cache(self, redis_process: RedisProcess, clock: ManualClock) -> AsyncIterator[QueueCache]:
        cache = RedisCache({"one": server_at(redis_process)}, lambda key: "one", random.Random(), now_ms=clock.now_ms)
        await cache.start()
        yield cache
        await cache.close()
        with redis.Redis(unix_socket_path=redis_process.path) as admin:
            redis_keys.check(admin)
            admin.flushall()
