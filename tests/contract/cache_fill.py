"""Residency: filling a shard from the store during other calls, and which messages must never reappear."""

from __future__ import annotations

import pytest

from cqs.cache.entry import State
from cqs.cache.interface import TOMBSTONE_MS, Outcome, Residency, Ticket
from tests.contract.cache_bench import RETENTION_MS, CacheBench, of


class FillRules:
    @pytest.mark.parametrize("is_last_empty", [False, True])
    async def test_what_expires_while_the_shard_fills_leaves_it(self, absent: CacheBench, is_last_empty: bool) -> None:
        epoch = await absent.cache.begin_fill(absent.shard, RETENTION_MS)
        assert epoch is not None
        old, young = absent.entry(1, age_ms=RETENTION_MS), absent.entry(2)
        await absent.cache.fill(absent.shard, epoch, [old, young], is_last=False)
        await absent.cache.vesting(10)
        await absent.cache.next_vesting_ms()
        await absent.reveal()

        last = [] if is_last_empty else [absent.entry(3)]
        assert await absent.cache.fill(absent.shard, epoch, last, is_last=True)
        if await absent.cache.vesting(10):
            await absent.reveal()
        assert await absent.numbers() == (2 - is_last_empty, 0, 0)
        assert absent.is_near(await absent.cache.next_vesting_ms(), absent.now_ms() + RETENTION_MS)

    async def test_absent_shard_knows_nothing_and_takes_nothing_in(self, absent: CacheBench) -> None:
        cache, shard = absent.cache, absent.shard

        await absent.put(1)

        state = await cache.state(shard)
        assert (state.residency, state.epoch) == (Residency.ABSENT, 0)
        assert of(await absent.take()) == []
        assert await absent.remove(1) == 0
        assert await cache.hide(shard, Ticket(1, 1), absent.now_ms()) is Outcome.GONE
        assert await cache.fence(shard, [Ticket(1, 1)], 1_000) == [Outcome.GONE]
        assert await cache.give_back(shard, [Ticket(1, 1)]) == 0
        assert await absent.peek(State.READY) == []
        assert await cache.lookup(shard, [1]) == [None]
        revealed = await absent.reveal()
        assert (revealed.visible, revealed.expired, revealed.next_ms) == (0, [], None)
        assert await absent.numbers() == (0, 0, 0)

    async def test_only_one_fills(self, absent: CacheBench) -> None:
        epoch = await absent.cache.begin_fill(absent.shard, RETENTION_MS)
        assert epoch

        state = await absent.cache.state(absent.shard)
        assert (state.residency, state.epoch) == (Residency.INITIALIZING, epoch)
        assert await absent.cache.begin_fill(absent.shard, RETENTION_MS) is None

        assert await absent.cache.fill(absent.shard, epoch, [], is_last=True)
        state = await absent.cache.state(absent.shard)
        assert (state.residency, state.epoch) == (Residency.READY, epoch)
        assert await absent.cache.begin_fill(absent.shard, RETENTION_MS) is None

    async def test_filled_messages_are_taken_in_order_after_the_last_page(self, absent: CacheBench) -> None:
        epoch = await absent.cache.begin_fill(absent.shard, RETENTION_MS)
        assert epoch is not None
        await absent.cache.fill(absent.shard, epoch, [absent.entry(1), absent.entry(2)], is_last=False)
        await absent.cache.fill(absent.shard, epoch, [absent.entry(3)], is_last=True)

        assert of(await absent.take()) == [1, 2, 3]

    async def test_nothing_is_taken_while_initializing(self, absent: CacheBench) -> None:
        epoch = await absent.cache.begin_fill(absent.shard, RETENTION_MS)
        assert epoch is not None
        await absent.cache.fill(absent.shard, epoch, [absent.entry(1)], is_last=False)
        await absent.put(2)

        assert of(await absent.take()) == []

        assert await absent.cache.fill(absent.shard, epoch, [], is_last=True)
        assert of(await absent.take()) == [1, 2]

    async def test_put_and_take_tell_the_residency(self, absent: CacheBench) -> None:
        cache, shard = absent.cache, absent.shard
        assert await cache.put(shard, [absent.entry(1)]) is Residency.ABSENT
        assert (await absent.take()).residency is Residency.ABSENT

        epoch = await cache.begin_fill(shard, RETENTION_MS)
        assert epoch is not None
        assert await cache.put(shard, [absent.entry(1)]) is Residency.INITIALIZING
        assert (await absent.take()).residency is Residency.INITIALIZING

        await cache.fill(shard, epoch, [], is_last=True)
        assert await cache.put(shard, [absent.entry(2)]) is Residency.READY
        assert (await absent.take()).residency is Residency.READY
        assert (await absent.take()).residency is Residency.READY

    async def test_repeated_page_changes_nothing(self, absent: CacheBench) -> None:
        epoch = await absent.cache.begin_fill(absent.shard, RETENTION_MS)
        assert epoch is not None
        for is_last in (False, False, True, True):
            page = [absent.entry(1), absent.entry(2)]
            assert await absent.cache.fill(absent.shard, epoch, page, is_last=is_last)

        assert of(await absent.take()) == [1, 2]
        assert await absent.numbers() == (0, 2, 0)

    async def test_message_put_while_initializing_is_there_once(self, absent: CacheBench) -> None:
        epoch = await absent.cache.begin_fill(absent.shard, RETENTION_MS)
        assert epoch is not None
        await absent.put(2)

        await absent.cache.fill(absent.shard, epoch, [absent.entry(1), absent.entry(2)], is_last=True)

        assert of(await absent.take()) == [1, 2]

    async def test_deleted_message_never_returns_by_a_fill_page_read_earlier(self, absent: CacheBench) -> None:
        epoch = await absent.cache.begin_fill(absent.shard, RETENTION_MS)
        assert epoch is not None
        page = [absent.entry(1), absent.entry(2)]

        await absent.remove(1)
        await absent.cache.fill(absent.shard, epoch, page, is_last=False)
        await absent.remove(2)
        await absent.cache.fill(absent.shard, epoch, page, is_last=True)

        assert await absent.numbers() == (0, 0, 0)
        assert of(await absent.take()) == []

    async def test_deleted_message_stays_away_through_a_long_fill(self, absent: CacheBench) -> None:
        epoch = await absent.cache.begin_fill(absent.shard, RETENTION_MS)
        assert epoch is not None
        await absent.remove(1)
        await absent.advance(TOMBSTONE_MS * 5)

        await absent.cache.fill(absent.shard, epoch, [absent.entry(1)], is_last=True)

        assert of(await absent.take()) == []

    async def test_removed_message_put_again_is_left_alone(self, bench: CacheBench) -> None:
        await bench.put(1)
        await bench.remove(1, 2)
        await bench.advance(TOMBSTONE_MS - 1_000)

        await bench.put(1, 2)

        assert await bench.numbers() == (0, 0, 0)

    async def test_tombstone_does_not_last_for_ever(self, bench: CacheBench) -> None:
        await bench.put(1)
        await bench.remove(1)
        await bench.advance(TOMBSTONE_MS * 3)

        await bench.put(1)

        assert of(await bench.take()) == [1]

    async def test_tombstone_is_of_one_shard_only(self, bench: CacheBench) -> None:
        other = await bench.sibling(77)
        await bench.remove(1)

        await other.put(1)

        assert of(await other.take()) == [1]

    async def test_leased_message_stays_hidden_until_its_own_time(self, absent: CacheBench) -> None:
        number = 1 << 52
        await absent.open(absent.leased(1, for_ms=5_000, receives=2, receive_number=number), absent.entry(2))
        assert await absent.numbers() == (1, 1, 0)

        assert await absent.cache.hide(absent.shard, Ticket(1, number), absent.now_ms() + 8_000) is Outcome.DONE

        await absent.run_out(8_000)
        received = {one.address: one for one in (await absent.take()).received}
        assert received[1].receive_count == 3
        assert received[1].receive_number > number

    async def test_lease_that_ran_out_keeps_its_count(self, absent: CacheBench) -> None:
        await absent.open(absent.leased(1, for_ms=-5_000, receives=4, receive_number=9))

        received = (await absent.take()).received

        assert [one.receive_count for one in received] == [5]

    async def test_filled_delayed_message_is_delayed(self, absent: CacheBench) -> None:
        await absent.open(absent.entry(1, delay_ms=1_000))
        assert await absent.numbers() == (0, 0, 1)

        await absent.run_out(1_000)

        assert of(await absent.take()) == [1]

    async def test_receive_numbers_never_repeat_over_fills(self, absent: CacheBench) -> None:
        numbers: list[int] = []
        for _ in range(3):
            await absent.open(absent.entry(1))
            numbers += [one.receive_number for one in (await absent.take(visibility_ms=0)).received]
            numbers += [one.receive_number for one in (await absent.take()).received]
            await absent.cache.drop(absent.shard)

        assert numbers == sorted(set(numbers))
        assert len(numbers) == 6

    async def test_handle_from_before_a_refill_is_not_the_living_lease(self, absent: CacheBench) -> None:
        await absent.open(absent.entry(1))
        old = await absent.take_one()
        await absent.cache.drop(absent.shard)
        await absent.open(absent.entry(1))
        await absent.take_one()

        assert await absent.hide(old, 0) is Outcome.STALE

    async def test_dropped_shard_is_absent_and_empty(self, bench: CacheBench) -> None:
        await bench.put(1, 2)
        await bench.take(1)

        await bench.cache.drop(bench.shard)

        assert (await bench.cache.state(bench.shard)).residency is Residency.ABSENT
        assert await bench.numbers() == (0, 0, 0)
        await bench.open()
        assert of(await bench.take()) == []

    async def test_shards_know_nothing_of_each_other(self, bench: CacheBench) -> None:
        other = await bench.sibling(77)
        await bench.put(1)
        await other.put(1, 2)
        await bench.remove(1)

        assert await other.numbers() == (2, 0, 0)
        await bench.cache.drop(bench.shard)
        assert of(await other.take()) == [1, 2]

    @pytest.mark.parametrize("is_last_first", [True, False])
    async def test_fifo_fill_in_any_order_is_taken_in_order(self, absent_fifo: CacheBench, is_last_first: bool) -> None:
        numbers = [7, 1, 9, 3, 5, 8, 2, 6, 4]
        epoch = await absent_fifo.cache.begin_fill(absent_fifo.shard, RETENTION_MS)
        assert epoch is not None
        for number in reversed(numbers) if is_last_first else numbers:
            entry = absent_fifo.entry(number, group="a")
            await absent_fifo.cache.fill(absent_fifo.shard, epoch, [entry], is_last=False)
        await absent_fifo.put(10, group="a")
        await absent_fifo.remove(5)
        await absent_fifo.cache.fill(absent_fifo.shard, epoch, [], is_last=True)

        assert of(await absent_fifo.take()) == [1, 2, 3, 4, 6, 7, 8, 9, 10]

    async def test_filled_lease_locks_its_group(self, absent_fifo: CacheBench) -> None:
        leased = absent_fifo.leased(2, for_ms=5_000, receive_number=9, group="a")
        await absent_fifo.open(absent_fifo.entry(3, group="a"), leased, absent_fifo.entry(1, group="a"))

        assert of(await absent_fifo.take()) == [1]
        assert of(await absent_fifo.take()) == []
