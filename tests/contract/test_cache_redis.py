"""The Redis cache passes the contract on a real Redis, and tests that need large shards."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator

import pytest
import redis

from cqs.cache.entry import State
from cqs.cache.interface import QueueCache
from cqs.cache.redis.cache import RedisCache
from cqs.testing.clock import ManualClock
from tests.contract import redis_keys
from tests.contract.cache_bench import CacheBench, of
from tests.contract.cache_stale import StaleRules
from tests.contract.cache_suite import CacheContract
from tests.needs import needs
from tests.redis_server import RedisProcess, server_at

pytestmark = needs("redis-server")


class TestRedisCache(CacheContract, StaleRules):
    @pytest.fixture
    async def cache(self, redis_process: RedisProcess, clock: ManualClock) -> AsyncIterator[QueueCache]:
        cache = RedisCache({"one": server_at(redis_process)}, lambda key: "one", random.Random(), now_ms=clock.now_ms)
        await cache.start()
        yield cache
        await cache.close()
        with redis.Redis(unix_socket_path=redis_process.path) as admin:
            redis_keys.check(admin)
            admin.flushall()

    async def test_message_behind_thousands_of_removed_ones_is_found_by_one_take(self, bench: CacheBench) -> None:
        numbers = range(1, 5_001)
        await bench.put(*numbers)
        while (await bench.take(1_000, visibility_ms=1_000)).received:
            pass
        await bench.advance(1_000)
        await bench.reveal(5_000)
        await bench.remove(*numbers)

        await bench.put(6_000)

        assert await bench.numbers() == (1, 0, 0)
        assert of(await bench.take()) == [6_000]

    async def test_big_calls_are_as_good_as_small_ones(self, absent: CacheBench) -> None:
        numbers = list(range(1, 1_235))
        await absent.open(*map(absent.entry, numbers))
        await absent.put(*range(2_001, 3_235), delay_ms=60_000)
        assert await absent.numbers() == (1_234, 0, 1_234)

        assert of(await absent.take(2_000, visibility_ms=1_000)) == numbers
        await absent.advance(1_000)
        assert (await absent.reveal(1_000)).visible == 1_000
        assert (await absent.reveal(1_000)).visible == 234
        assert await absent.peek(State.READY, after=100, limit=2_000) == numbers[100:]
        known = await absent.cache.lookup(absent.shard, [*numbers, 9_999])
        assert [None if entry is None else entry.address for entry in known] == [*numbers, None]

        await absent.cache.redelay(absent.shard, 0)
        assert await absent.numbers() == (2_468, 0, 0)
        assert await absent.remove(*numbers) == 1_234
        assert await absent.numbers() == (1_234, 0, 0)
