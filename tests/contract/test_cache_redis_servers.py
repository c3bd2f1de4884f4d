"""How the Redis cache handles servers that are full, contain damaged data, or are unsuitable."""

from __future__ import annotations

import asyncio
import random

import pytest

from cqs.cache.redis.connection import Address
from cqs.cache.redis.replies import Refused
from cqs.cache.redis.server import RedisServer
from cqs.cluster.breaker import FAILURES_MAX, Breaker
from cqs.errors import CacheUnavailable
from cqs.message import Message
from cqs.testing.clock import ManualClock
from tests.contract.cache_bench import RETENTION_MS, of
from tests.contract.redis_world import FIFO, SHARD, admin_of, bench_on, cache_on
from tests.needs import needs
from tests.redis_server import RedisProcess, server_at

pytestmark = needs("redis-server")


class TestFullServers:
    async def test_full_server_refuses_puts_whole_and_lets_messages_out(
        self, own: RedisProcess, clock: ManualClock
    ) -> None:
        breaker = Breaker(random.Random(1))
        async with cache_on(server_at(own, gate=breaker), clock=clock) as cache:
            for shard in (SHARD, FIFO):
                bench = bench_on(cache, clock, shard)
                await bench.open()
                await bench.put(*range(1, 9))
                due = await bench.take(2, visibility_ms=1_000)
                with admin_of(own) as admin:
                    admin.config_set("maxmemory", 1)

                for _ in range(FAILURES_MAX + 1):
                    with pytest.raises(Refused, match="OOM"):
                        await bench.put(10)

                assert not breaker.is_open
                assert await bench.numbers() == (6, 2, 0)
                await bench.run_out(1_000)
                first, *others = (await bench.take(8, visibility_ms=1_000)).received
                assert len(others) == 7
                assert sorted(of([first, *others]))[:2] == of(due)
                await bench.hide(first, 5_000)
                assert [outcome.value for outcome in await bench.fence(*others)] == ["done"] * 7
                assert await bench.cache.give_back(shard, [others[-1].ticket]) == 1
                assert await bench.remove(*range(1, 9)) == 8
                assert await bench.numbers() == (0, 0, 0)
                with admin_of(own) as admin:
                    admin.config_set("maxmemory", 0)

    async def test_full_server_lets_shards_be_dropped(self, own: RedisProcess, clock: ManualClock) -> None:
        async with cache_on(server_at(own), clock=clock) as cache:
            bench = bench_on(cache, clock, SHARD)
            await bench.open(bench.entry(1))
            with admin_of(own) as admin:
                admin.config_set("maxmemory", 1)

            await cache.drop(SHARD)

            assert await bench.numbers() == (0, 0, 0)

    async def test_full_server_refuses_to_be_filled(self, own: RedisProcess, clock: ManualClock) -> None:
        async with cache_on(server_at(own), clock=clock) as cache:
            bench = bench_on(cache, clock, SHARD)
            with admin_of(own) as admin:
                admin.config_set("maxmemory", 1)

                with pytest.raises(Refused, match="OOM"):
                    await cache.begin_fill(SHARD, RETENTION_MS)

                assert admin.keys() == [b"cqs:life"]
            assert await bench.numbers() == (0, 0, 0)


class TestContent:
    @pytest.mark.parametrize(("budget_bytes", "is_kept"), [(0, False), (1 << 40, True)])
    async def test_content_is_kept_within_the_budget(
        self, own: RedisProcess, clock: ManualClock, budget_bytes: int, is_kept: bool
    ) -> None:
        async with cache_on(server_at(own, budget_bytes=budget_bytes), clock=clock) as cache:
            bench = bench_on(cache, clock, SHARD)
            await bench.open()
            entry = bench.entry(1)
            entry.message = Message(address=1, body="text", sent_ms=entry.sent_ms)

            await cache.put(SHARD, [entry])

            assert ((await bench.take_one()).message is not None) is is_kept

    async def test_damaged_content_is_told(self, own: RedisProcess, clock: ManualClock) -> None:
        async with cache_on(server_at(own), clock=clock) as cache:
            bench = bench_on(cache, clock, SHARD)
            await bench.open(bench.entry(1))
            with admin_of(own) as admin:
                (key,) = admin.keys("cqs:{*}:body")
                admin.hset(key, (1).to_bytes(16, "big"), b"\xc1")

            with pytest.raises(CacheUnavailable, match="damaged"):
                await bench.take()


class TestUnfitServers:
    async def test_good_server_has_no_problems(self, own: RedisProcess) -> None:
        async with cache_on(server_at(own)) as cache:
            (report,) = (await cache.servers.reports()).values()
            assert report.problems == ()
            assert report.used_bytes and report.clients and report.version
            assert report.keys == 1

            await bench_on(cache, ManualClock(), SHARD).open()

            (report,) = (await cache.servers.reports()).values()
            assert report.keys

    async def test_replica_is_refused(self, own: RedisProcess) -> None:
        with RedisProcess("--replicaof", "127.0.0.1", "1") as replica:
            async with cache_on(server_at(replica)) as cache:
                with pytest.raises(CacheUnavailable, match="is a replica"):
                    await cache.state(SHARD)
                assert "is a replica" in (await cache.servers.reports())[replica.path].problems[0]

    async def test_server_that_evicts_is_refused(self) -> None:
        with RedisProcess("--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru") as evicting:
            async with cache_on(server_at(evicting)) as cache:
                with pytest.raises(CacheUnavailable, match="maxmemory-policy is allkeys-lru"):
                    await cache.state(SHARD)

    async def test_server_that_begins_to_evict_is_pointed_out(self, own: RedisProcess) -> None:
        async with cache_on(server_at(own)) as cache:
            with admin_of(own) as admin:
                admin.config_set("maxmemory-policy", "volatile-ttl")
                admin.config_set("maxmemory", 1 << 30)

            assert "volatile-ttl" in (await cache.servers.reports())[own.path].problems[0]

    async def test_server_that_writes_to_disk_is_pointed_out(self) -> None:
        with RedisProcess("--save", "60", "1", "--appendonly", "yes") as saving:
            async with cache_on(server_at(saving)) as cache:
                problems = (await cache.servers.reports())[saving.path].problems

        assert len(problems) == 2
        assert "saves to disk" in problems[0] and "append-only" in problems[1]

    async def test_server_that_is_not_there_is_told(self, tmp_path: object) -> None:
        rng = random.Random(1)
        absent = RedisServer(Address(path=f"{tmp_path}/nobody.sock"), Breaker(rng), rng, 0)
        async with cache_on(absent) as cache:
            assert "can't be reached" in (await cache.servers.reports())[f"{tmp_path}/nobody.sock"].problems[0]

    async def test_server_that_is_not_redis_is_reported(self, tmp_path: object) -> None:
        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            while await reader.read(1_000):
                writer.write(b"$9\r\nsomething\r\n")
            writer.close()

        path = f"{tmp_path}/other.sock"
        other = await asyncio.start_unix_server(answer, path)
        rng = random.Random(1)
        async with cache_on(RedisServer(Address(path=path), Breaker(rng), rng, 0)) as cache:
            assert "it is not a Redis server" in (await cache.servers.reports())[path].problems[0]
        other.close()
        await other.wait_closed()
