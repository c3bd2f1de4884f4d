"""What the Redis cache does when a server dies or restarts empty."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator

import pytest

from cqs.cache.interface import Residency, Shard
from cqs.cache.redis.cache import RedisCache
from cqs.cache.redis.connection import Address, Link
from cqs.cache.redis.server import RedisServer
from cqs.cluster.breaker import FAILURES_MAX, Breaker
from cqs.errors import CacheUnavailable
from cqs.testing.clock import ManualClock
from tests.contract.cache_bench import CacheBench, of
from tests.contract.redis_world import SHARD, admin_of, bench_on, cache_on
from tests.needs import needs
from tests.redis_server import RedisProcess, server_at

pytestmark = needs("redis-server")


class TestLives:
    """A shard belongs to one incarnation of its server."""

    async def test_server_restarted_empty_knows_no_shards(self, own: RedisProcess, clock: ManualClock) -> None:
        async with cache_on(server_at(own), clock=clock) as cache:
            bench = bench_on(cache, clock, SHARD)
            await bench.open(bench.entry(1))
            old = await bench.take_one()

            await restart(own, cache)
            clock.advance_ms(1)

            assert (await cache.state(SHARD)).residency is Residency.ABSENT
            await bench.open(bench.entry(1))
            assert (await bench.take_one()).receive_number > old.receive_number

    async def test_server_that_kept_its_contents_counts_as_empty(self, own: RedisProcess, clock: ManualClock) -> None:
        async with cache_on(server_at(own), clock=clock) as cache:
            bench = bench_on(cache, clock, SHARD)
            await bench.open(bench.entry(1), bench.entry(2))
            with admin_of(own) as admin:
                admin.save()

            await restart(own, cache)

            with admin_of(own) as admin:
                assert admin.exists(*admin.keys("cqs:{*}:meta"))
            assert (await cache.state(SHARD)).residency is Residency.ABSENT
            assert of(await bench.take()) == []
            assert await cache.put(SHARD, [bench.entry(3)]) is Residency.ABSENT
            await bench.open(bench.entry(4))
            assert of(await bench.take()) == [4]

    async def test_flushed_server_knows_no_shards(self, own: RedisProcess, clock: ManualClock) -> None:
        async with cache_on(server_at(own), clock=clock) as cache:
            bench = bench_on(cache, clock, SHARD)
            await bench.open(bench.entry(1))

            with admin_of(own) as admin:
                admin.flushall()

            assert (await cache.state(SHARD)).residency is Residency.ABSENT
            assert (await bench.take()).residency is Residency.ABSENT


async def restart(process: RedisProcess, cache: RedisCache) -> None:
    await stop(process, cache)
    process.start()
    assert await link_of(cache).connected(60)


async def stop(process: RedisProcess, cache: RedisCache) -> None:
    """Stops the server and waits until the cache has detected it."""
    process.stop()
    with pytest.raises(CacheUnavailable):
        await cache.state(SHARD)


def link_of(cache: RedisCache) -> Link:
    """Returns the link to the server of `SHARD`."""
    server = cache.server_of(SHARD)
    assert isinstance(server, RedisServer)
    return server.link


class TestDeadServers:
    @pytest.fixture
    async def two(self, own: RedisProcess, clock: ManualClock) -> AsyncIterator[tuple[CacheBench, CacheBench]]:
        """Two open shards, each on its own server; the first one's server is `own`."""
        with RedisProcess() as other:
            async with cache_on(server_at(own), server_at(other), clock=clock) as cache:
                shards = [Shard(number) for number in range(1, 50)]
                servers = [cache.server_of(shard) for shard in shards]
                is_own = [isinstance(server, RedisServer) and server.address.path == own.path for server in servers]
                dying, living = shards[is_own.index(True)], shards[is_own.index(False)]
                benches = bench_on(cache, clock, dying), bench_on(cache, clock, living)
                for bench in benches:
                    await bench.open()
                    await bench.put(1, delay_ms=1_000)
                yield benches

    async def test_dead_server_leaves_the_shards_of_others_alone(
        self, two: tuple[CacheBench, CacheBench], own: RedisProcess
    ) -> None:
        dying, living = two
        own.stop()
        for _ in range(FAILURES_MAX + 1):
            with pytest.raises(CacheUnavailable):
                await dying.put(2)

        await living.put(2)

        assert of(await living.take()) == [2]
        lost, seen = await living.cache.survey([dying.shard, living.shard])
        assert lost is None
        assert seen is not None
        assert (seen.counts.in_flight, seen.state) == (1, await living.cache.state(living.shard))
        await living.advance(1_000)
        assert await living.cache.vesting(10) == [living.shard]
        assert await living.cache.next_vesting_ms() is not None

    async def test_work_is_unknown_only_when_no_server_answers(self, own: RedisProcess, clock: ManualClock) -> None:
        async with cache_on(server_at(own), clock=clock) as cache:
            own.stop()
            with pytest.raises(CacheUnavailable):
                await cache.counts(SHARD)

            with pytest.raises(CacheUnavailable):
                await cache.survey([SHARD])
            with pytest.raises(CacheUnavailable):
                await cache.vesting(10)
            with pytest.raises(CacheUnavailable):
                await cache.next_vesting_ms()

    async def test_open_breaker_refuses_at_once_and_closes_after_a_good_probe(self, own: RedisProcess) -> None:
        breaker = Breaker(random.Random(1))
        async with cache_on(server_at(own, gate=breaker)) as cache:
            own.stop()
            while not breaker.is_open:
                with pytest.raises(CacheUnavailable):
                    await cache.state(SHARD)

            with pytest.raises(CacheUnavailable, match="is not called while"):
                await cache.state(SHARD)

            own.start()
            assert await link_of(cache).connected(60)
            breaker.failed(-1e9)
            assert (await cache.state(SHARD)).residency is Residency.ABSENT
            assert not breaker.is_open

    async def test_cancelled_probe_lets_the_next_one_try(self, own: RedisProcess) -> None:
        breaker = Breaker(random.Random(1))
        async with cache_on(server_at(own, gate=breaker)) as cache:
            for _ in range(FAILURES_MAX):
                breaker.failed(-1e9)
            probe = asyncio.create_task(cache.state(SHARD))
            await asyncio.sleep(0)
            probe.cancel()
            await asyncio.gather(probe, return_exceptions=True)

            assert (await cache.state(SHARD)).residency is Residency.ABSENT


async def test_a_greeting_that_meets_a_bug_is_tried_again(redis_process: RedisProcess) -> None:
    tries = 0

    async def greet(_: object) -> None:
        nonlocal tries
        tries += 1
        if tries == 1:
            raise IndexError("an answer that nobody foresaw")

    link = Link(Address(path=redis_process.path), random.Random(1), greet)
    async with asyncio.timeout(60):
        await link.start()
        assert "nobody foresaw" in link.reason
        assert await link.connected(60)
    await link.close()
