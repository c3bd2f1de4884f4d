"""The memory cache passes the contract and keeps its own bounds of memory and work."""

from __future__ import annotations

import random

import pytest

from cqs.cache.bodies import cost
from cqs.cache.entry import Entry, State
from cqs.cache.interface import QueueCache
from cqs.cache.memory import MemoryCache
from cqs.cache.memory_shard import EXPIRED_BATCH_MAX
from cqs.cache.peek import PEEK_BATCH
from cqs.message import Attribute, Message
from cqs.testing.clock import ManualClock
from tests.contract.cache_bench import RETENTION_MS, CacheBench, of
from tests.contract.cache_stale import StaleRules
from tests.contract.cache_suite import STANDARD, CacheContract


class TestMemoryCache(CacheContract, StaleRules):
    @pytest.fixture
    def cache(self, clock: ManualClock) -> QueueCache:
        return MemoryCache(clock, random.Random(1), 1_000_000)

    async def test_one_take_drops_a_bounded_number_of_expired_messages(self, bench: CacheBench) -> None:
        await bench.put(*range(1, EXPIRED_BATCH_MAX + 3), age_ms=RETENTION_MS)

        assert len((await bench.take()).expired) == EXPIRED_BATCH_MAX
        assert len((await bench.take()).expired) == 2

    async def test_big_shard_is_peeked_in_order(self, bench: CacheBench) -> None:
        numbers = list(range(1, PEEK_BATCH * 2 + 500))
        random.Random(1).shuffle(numbers)
        await bench.put(*numbers)

        assert await bench.peek(State.READY, after=PEEK_BATCH - 5, limit=10) == list(
            range(PEEK_BATCH - 4, PEEK_BATCH + 6)
        )

    async def test_big_shard_is_dropped(self, bench: CacheBench) -> None:
        await bench.put(*range(1, 25_000))

        await bench.cache.drop(bench.shard)

        assert await bench.numbers() == (0, 0, 0)


class TestBodyBudget:
    """Messages beyond the budget are cached without their content; the oldest keep theirs."""

    @pytest.fixture
    async def bench(self) -> CacheBench:
        clock = ManualClock()
        cache = MemoryCache(clock, random.Random(1), 2 * cost(self.message(1)))

        async def advance(by_ms: int) -> None:
            clock.advance_ms(by_ms)

        bench = CacheBench(cache, STANDARD, clock.now_ms, advance)
        await bench.open()
        return bench

    def message(self, number: int) -> Message:
        attribute = Attribute("colour", "String", b"blue")
        return Message(address=number, body="x" * 1_000, sent_ms=0, attributes=(attribute,))

    async def send(self, bench: CacheBench, *numbers: int) -> None:
        now_ms = bench.now_ms()
        entries = [Entry(address=number, sent_ms=now_ms, message=self.message(number)) for number in numbers]
        await bench.cache.put(bench.shard, entries)

    async def kept(self, bench: CacheBench) -> list[int]:
        page = await bench.cache.peek(bench.shard, State.READY, None, 100)
        return [entry.address for entry in page.entries if entry.message is not None]

    async def test_content_beyond_the_budget_is_not_kept(self, bench: CacheBench) -> None:
        await self.send(bench, 1, 2, 3)

        assert await self.kept(bench) == [1, 2]
        assert of(await bench.take()) == [1, 2, 3]

    async def test_removed_messages_free_their_room(self, bench: CacheBench) -> None:
        await self.send(bench, 1, 2)
        await bench.take(1)
        await bench.remove(1, 2)

        await self.send(bench, 3, 4, 5)

        assert await self.kept(bench) == [3, 4]

    async def test_expired_messages_free_their_room(self, bench: CacheBench) -> None:
        await self.send(bench, 1, 2)
        await bench.advance(RETENTION_MS)
        await bench.reveal()

        await self.send(bench, 3, 4, 5)

        assert await self.kept(bench) == [3, 4]

    async def test_dropped_shards_free_their_room(self, bench: CacheBench) -> None:
        await self.send(bench, 1, 2)
        await bench.cache.drop(bench.shard)
        await bench.open()

        await self.send(bench, 3, 4, 5)

        assert await self.kept(bench) == [3, 4]

    async def test_message_hidden_from_the_middle_of_the_line_is_counted_once(self, bench: CacheBench) -> None:
        await self.send(bench, 1, 2)
        first, _ = (await bench.take()).received
        await bench.run_out()
        await bench.hide(first, 5_000)
        await bench.remove(1, 2)

        await self.send(bench, 3, 4, 5)

        assert await self.kept(bench) == [3, 4]
