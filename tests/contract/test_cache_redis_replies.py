"""A lost reply is harmless: every call to the Redis cache can be retried, and a retried take returns the same
messages."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from itertools import count

import pytest

from cqs.cache.redis.cache import RedisCache
from cqs.cache.redis.connection import Address
from cqs.cache.redis.replies import ConnectionLost
from cqs.cache.redis.server import RedisServer
from cqs.cluster.breaker import Breaker
from cqs.testing.clock import ManualClock
from tests.contract.cache_bench import CacheBench, of
from tests.contract.redis_world import FIFO, SHARD, bench_on, cache_on
from tests.needs import needs
from tests.proxy import Proxy
from tests.redis_server import RedisProcess

pytestmark = needs("redis-server")


class TestLostReplies:
    @pytest.fixture
    async def proxy(self, own: RedisProcess) -> AsyncIterator[Proxy]:
        async with Proxy(own.path) as proxy:
            yield proxy

    @pytest.fixture(params=[SHARD, FIFO], ids=["standard", "fifo"])
    async def bench(
        self, proxy: Proxy, clock: ManualClock, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
    ) -> AsyncIterator[CacheBench]:
        monkeypatch.setattr("cqs.cache.redis.server.REGAIN_S", 60.0)
        rng = random.Random(1)
        server = RedisServer(Address(path=proxy.path), Breaker(rng), rng, 1 << 30, 60)
        async with cache_on(server, clock=clock) as cache:
            bench = bench_on(cache, clock, request.param)
            await bench.open()
            yield bench

    async def test_take_whose_answer_was_lost_hands_out_the_same_messages(
        self, bench: CacheBench, proxy: Proxy
    ) -> None:
        await bench.put(1, 2, 3, 4)
        proxy.cut_before_answer()

        taken = await bench.take(2)

        assert of(taken) == [1, 2]
        assert [one.receive_count for one in taken.received] == [1, 1]
        assert await bench.numbers() == (2, 2, 0)
        assert of(await bench.take()) == [3, 4]

    async def test_take_that_never_arrived_is_repeated(self, bench: CacheBench, proxy: Proxy) -> None:
        await bench.put(1, 2)
        proxy.cut_before_request()

        assert of(await bench.take(1)) == [1]
        assert await bench.numbers() == (1, 1, 0)

    async def test_takes_at_one_time_that_all_lost_their_answers_share_nothing(
        self, bench: CacheBench, proxy: Proxy
    ) -> None:
        await bench.put(*range(1, 101))
        proxy.cut_before_answer()

        takes = await asyncio.gather(*(bench.take(5) for _ in range(20)))

        assert sorted(number for taken in takes for number in of(taken)) == list(range(1, 101))
        assert {one.receive_count for taken in takes for one in taken.received} == {1}

    async def test_put_whose_answer_was_lost_may_be_repeated(self, bench: CacheBench, proxy: Proxy) -> None:
        proxy.cut_before_answer()
        with pytest.raises(ConnectionLost):
            await bench.put(1, 2)

        await until_connected(bench)
        await bench.put(1, 2)

        assert of(await bench.take()) == [1, 2]

    async def test_remove_whose_answer_was_lost_may_be_repeated(self, bench: CacheBench, proxy: Proxy) -> None:
        await bench.put(1, 2)
        proxy.cut_before_answer()
        with pytest.raises(ConnectionLost):
            await bench.remove(1)

        await until_connected(bench)

        assert await bench.remove(1) == 0
        assert of(await bench.take()) == [2]

    async def test_give_back_whose_answer_was_lost_may_be_repeated(self, bench: CacheBench, proxy: Proxy) -> None:
        await bench.put(1)
        received = await bench.take_one()
        proxy.cut_before_answer()
        with pytest.raises(ConnectionLost):
            await bench.cache.give_back(bench.shard, [received.ticket])

        await until_connected(bench)

        assert await bench.cache.give_back(bench.shard, [received.ticket]) == 0
        assert (await bench.take_one()).receive_count == 1

    async def test_cancelled_take_leaves_others_their_answers(self, bench: CacheBench, proxy: Proxy) -> None:
        await bench.put(1, 2)
        proxy.hold()
        lost, kept = asyncio.create_task(bench.take(1)), asyncio.create_task(bench.take(1))
        await asyncio.sleep(0)

        lost.cancel()
        proxy.release()

        assert of(await kept) == [2]

    @pytest.mark.parametrize("later_ms", [0, 1_500], ids=["at once", "with the answers kept anew since"])
    async def test_an_answer_is_given_again_whatever_was_kept_since(self, bench: CacheBench, later_ms: int) -> None:
        cache = bench.cache
        assert isinstance(cache, RedisCache)
        await bench.put(1, 2, 3)
        await bench.take(1, visibility_ms=90_000)
        await bench.advance(29_000)
        cache._takes = count(7)
        taken = await bench.take(1)
        await bench.advance(later_ms)
        assert of(await bench.take(1)) == [3]

        cache._takes = count(7)
        again = await bench.take(1)

        assert [one.ticket for one in again.received] == [one.ticket for one in taken.received]
        assert of(again) == [2]


async def until_connected(bench: CacheBench) -> None:
    cache = bench.cache
    assert isinstance(cache, RedisCache)
    assert await cache.server_of(bench.shard).regained()
