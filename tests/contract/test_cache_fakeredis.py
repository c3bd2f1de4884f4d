"""The Redis cache passes the contract on fakeredis, so it is tested even without an installed Redis."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from cqs.cache.interface import QueueCache
from cqs.cache.redis.cache import RedisCache
from cqs.testing.clock import ManualClock
from cqs.testing.fake_redis import FakeRedisServer
from tests.contract import redis_keys
from tests.contract.cache_suite import CacheContract


class TestFakeRedisCache(CacheContract):
    @pytest.fixture
    def server(self) -> Iterator[FakeRedisServer]:
        server = FakeRedisServer()
        yield server
        redis_keys.check(server.redis)
        server.redis.close()

    @pytest.fixture
    def cache(self, server: FakeRedisServer, clock: ManualClock) -> QueueCache:
        return RedisCache({"fake": server}, lambda key: "fake", random.Random(1), now_ms=clock.now_ms)
