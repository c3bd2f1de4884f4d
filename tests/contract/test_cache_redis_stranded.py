"""A look at a shard detects ready messages that are missing in its line."""

from __future__ import annotations

import pytest
import redis

from cqs.cache.interface import Shard
from cqs.testing.clock import ManualClock
from tests.contract.cache_bench import CacheBench
from tests.contract.redis_world import bench_on, cache_on
from tests.needs import needs
from tests.redis_server import RedisProcess, server_at

pytestmark = needs("redis-server")


async def stranded(bench: CacheBench) -> int:
    (sight,) = await bench.cache.survey([bench.shard])
    assert sight is not None
    return sight.stranded


@pytest.mark.parametrize("group", [None, "a"])
@pytest.mark.parametrize("is_fifo", [False, True])
async def test_what_the_line_misses_is_seen(redis_process: RedisProcess, group: str | None, is_fifo: bool) -> None:
    clock = ManualClock()
    async with cache_on(server_at(redis_process), clock=clock) as cache:
        bench = bench_on(cache, clock, Shard(1, is_fifo=is_fifo))
        await bench.open()
        await bench.put(1, 2, 3, 4, group=group or ("a" if is_fifo else None))
        await bench.put(5, delay_ms=1_000, group=group or ("a" if is_fifo else None))
        await bench.take(1)
        assert await stranded(bench) == 0

        with redis.Redis(unix_socket_path=redis_process.path) as admin:
            (line,) = [key for key in admin.keys("cqs:{*") if key.endswith(b":fifo" if is_fifo else b":list")]
            if is_fifo:
                admin.zremrangebyrank(line, 1, -1)
            else:
                admin.ltrim(line, 1, 1)

        assert await stranded(bench) == (3 if is_fifo else 2)
        with redis.Redis(unix_socket_path=redis_process.path) as admin:
            admin.flushall()
