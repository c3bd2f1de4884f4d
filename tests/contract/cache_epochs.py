"""Epochs: a shard rejects calls that carry an earlier epoch, but keeps its counts."""

from __future__ import annotations

from cqs.cache.entry import State
from cqs.cache.interface import Residency
from tests.contract.cache_bench import RETENTION_MS, CacheBench, of


class EpochRules:
    async def test_page_of_another_epoch_is_refused(self, absent: CacheBench) -> None:
        old = await absent.cache.begin_fill(absent.shard, RETENTION_MS)
        assert old is not None
        await absent.cache.drop(absent.shard)
        assert not await absent.cache.fill(absent.shard, old, [absent.entry(1)], is_last=True)
        new = await absent.cache.begin_fill(absent.shard, RETENTION_MS)
        assert new is not None and new != old

        assert not await absent.cache.fill(absent.shard, old, [absent.entry(1)], is_last=True)

        assert (await absent.cache.state(absent.shard)).residency is Residency.INITIALIZING
        assert await absent.numbers() == (0, 0, 0)

    async def test_a_put_of_another_epoch_finds_the_shard_absent(self, absent: CacheBench) -> None:
        cache, shard = absent.cache, absent.shard
        before = await cache.begin_fill(shard, RETENTION_MS)
        assert before is not None
        await cache.drop(shard)
        epoch = await cache.begin_fill(shard, RETENTION_MS)
        assert epoch is not None

        answers = [await cache.put(shard, [absent.entry(1)], known) for known in (before, 0)]
        filling = await cache.put(shard, [absent.entry(2)], epoch)
        await cache.fill(shard, epoch, [], is_last=True)
        ready = await cache.put(shard, [absent.entry(3)], epoch)

        assert (answers, filling, ready) == ([Residency.ABSENT] * 2, Residency.INITIALIZING, Residency.READY)
        assert of(await absent.take()) == [2, 3]

    async def test_a_put_with_a_lease_that_is_over_counts_it_and_is_taken_under_a_higher_number(
        self, bench: CacheBench
    ) -> None:
        number = 1 << 52
        entry = bench.leased(1, for_ms=0, receives=4, receive_number=number)
        entry.state, entry.visible_ms = State.READY, 0
        await bench.cache.put(bench.shard, [entry])

        again = await bench.take_one()

        assert (again.receive_count, again.receive_number > number) == (5, True)
