"""The index of shards that have work for `reveal`."""

from __future__ import annotations

from cqs.cache.interface import VESTING_LEASE_MS
from tests.contract.cache_bench import RETENTION_MS, VISIBILITY_MS, CacheBench


class VestingRules:
    async def test_idle_shards_have_no_work(self, bench: CacheBench) -> None:
        assert await bench.cache.next_vesting_ms() is None

        await bench.put(1)
        assert bench.is_near(await bench.cache.next_vesting_ms(), bench.now_ms() + RETENTION_MS)
        assert await bench.cache.vesting(10) == []

    async def test_shard_has_work_when_a_lease_ends_or_a_delay_is_over(self, bench: CacheBench) -> None:
        await bench.put(1, delay_ms=5_000)
        assert bench.is_near(await bench.cache.next_vesting_ms(), bench.now_ms() + 5_000)
        assert await bench.cache.vesting(10) == []

        await bench.put(2)
        await bench.take(visibility_ms=2_000)
        assert bench.is_near(await bench.cache.next_vesting_ms(), bench.now_ms() + 2_000)

        await bench.advance(2_000)
        assert await bench.cache.vesting(10) == [bench.shard]

    async def test_shard_has_work_when_its_head_expires_though_nobody_ever_took(self, bench: CacheBench) -> None:
        await bench.put(1, age_ms=RETENTION_MS - 10_000)

        await bench.advance(10_000)

        assert await bench.cache.vesting(10) == [bench.shard]
        assert (await bench.reveal()).expired == [1]

    async def test_shard_taken_is_leased(self, bench: CacheBench) -> None:
        await bench.put(1)
        await bench.take()
        await bench.advance(VISIBILITY_MS)
        assert await bench.cache.vesting(10) == [bench.shard]

        assert await bench.cache.vesting(10) == []
        await bench.advance(VESTING_LEASE_MS - 1_000)
        assert await bench.cache.vesting(10) == []

        await bench.advance(1_000)
        assert await bench.cache.vesting(10) == [bench.shard]

    async def test_revealed_shard_has_work_again_when_reveal_said(self, bench: CacheBench) -> None:
        await bench.put(1, 2)
        await bench.take(1)
        await bench.take(1, visibility_ms=VISIBILITY_MS + 1_000)
        await bench.advance(VISIBILITY_MS)
        await bench.cache.vesting(10)

        revealed = await bench.reveal()

        assert await bench.cache.next_vesting_ms() == revealed.next_ms
        await bench.advance(1_000)
        assert await bench.cache.vesting(10) == [bench.shard]

    async def test_no_more_shards_than_asked_for_earliest_first(self, bench: CacheBench) -> None:
        later = await bench.sibling(77)
        await later.put(1, delay_ms=2_000)
        await bench.put(1, delay_ms=1_000)
        await bench.advance(2_000)

        assert await bench.cache.vesting(1) == [bench.shard]
        assert await bench.cache.vesting(10) == [later.shard]

    async def test_dropped_shard_has_no_work(self, bench: CacheBench) -> None:
        await bench.put(1, delay_ms=1_000)
        await bench.cache.drop(bench.shard)
        await bench.advance(1_000)

        assert await bench.cache.vesting(10) == []
        assert await bench.cache.next_vesting_ms() is None
