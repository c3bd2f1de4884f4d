"""What the tenants of fair queues leave in Redis."""

from __future__ import annotations

import pytest

from cqs.cache.interface import Shard
from cqs.testing.clock import ManualClock
from tests.contract.redis_world import admin_of, bench_on, cache_on
from tests.needs import needs
from tests.redis_server import RedisProcess, server_at

pytestmark = needs("redis-server")


@pytest.mark.parametrize("count", [3, 300])
async def test_tenants_whose_work_is_long_past_are_forgotten(redis_process: RedisProcess, count: int) -> None:
    """A queue with a group for each job kept all of them for as long as it was used."""
    clock = ManualClock()
    async with cache_on(server_at(redis_process), clock=clock) as cache:
        bench = bench_on(cache, clock, Shard(1))
        await bench.open()
        await bench.put(1, group="taken")
        await bench.take(1, visibility_ms=7_200_000)
        for number in range(2, count + 2):
            await bench.put(number, group=f"job-{number}")
        await bench.take(count, visibility_ms=7_200_000)
        clock.advance_ms(120_000)
        await bench.remove(*range(2, count + 2))
        await bench.put(1_000, group="ready")

        with admin_of(redis_process) as admin:
            (key,) = [key for key in admin.keys("cqs:{*") if key.endswith(b":tenants")]
            await bench.counts()
            assert admin.hlen(key) == count + 3

            clock.advance_ms(900_000)
            assert await bench.numbers() == (1, 1, 0)

            assert sorted(admin.hkeys(key)) == [b" ", b"ready", b"taken"]
            admin.flushall()
