"""The effects of time: messages that become visible, retention, dead letters."""

from __future__ import annotations

import asyncio

from cqs.cache.interface import DEAD_BATCH_MAX, DEAD_LEASE_MS, Outcome
from tests.contract.cache_bench import RETENTION_MS, VISIBILITY_MS, CacheBench, of


class TimeRules:
    async def test_reveal_brings_back_what_is_due_and_nothing_else(self, bench: CacheBench) -> None:
        await bench.put(1, 2)
        await bench.put(3, delay_ms=VISIBILITY_MS * 2)
        await bench.take(1)

        await bench.advance(VISIBILITY_MS)
        revealed = await bench.reveal()

        assert revealed.visible == 1
        assert revealed.expired == []
        assert await bench.numbers() == (2, 0, 1)

    async def test_nothing_is_due_before_its_time(self, bench: CacheBench) -> None:
        await bench.put(1)
        await bench.take()
        await bench.advance(VISIBILITY_MS - 1_000)

        assert (await bench.reveal()).visible == 0

    async def test_reveal_tells_when_there_is_work_again(self, bench: CacheBench) -> None:
        await bench.put(1, 2)
        await bench.take(1)
        await bench.take(1, visibility_ms=VISIBILITY_MS * 2)

        assert bench.is_near((await bench.reveal()).next_ms, bench.now_ms() + VISIBILITY_MS)

        await bench.remove(1)
        assert bench.is_near((await bench.reveal()).next_ms, bench.now_ms() + VISIBILITY_MS * 2)
        await bench.remove(2)
        assert (await bench.reveal()).next_ms is None

    async def test_reveal_touches_no_more_than_its_limit(self, bench: CacheBench) -> None:
        await bench.put(1, 2, 3, 4, 5)
        await bench.take()
        await bench.advance(VISIBILITY_MS)

        first = await bench.reveal(limit=2)

        assert first.visible == 2
        assert first.next_ms is not None and first.next_ms <= bench.now_ms()
        assert await bench.numbers() == (2, 3, 0)
        assert (await bench.reveal()).visible == 3

    async def test_expired_message_is_never_taken(self, bench: CacheBench) -> None:
        await bench.put(1, age_ms=RETENTION_MS)
        await bench.put(2)

        taken = await bench.take()

        assert of(taken) == [2]
        assert taken.expired == [1]
        assert await bench.numbers() == (0, 1, 0)

    async def test_message_expires_at_its_sent_time_plus_retention(self, bench: CacheBench) -> None:
        await bench.put(1, age_ms=RETENTION_MS - 5_000)
        await bench.put(2, age_ms=RETENTION_MS - 10_000)

        await bench.advance(5_000)

        taken = await bench.take()
        assert of(taken) == [2]
        assert taken.expired == [1]

    async def test_receives_do_not_extend_retention(self, bench: CacheBench) -> None:
        await bench.put(1, age_ms=RETENTION_MS - VISIBILITY_MS)
        await bench.take()

        await bench.advance(VISIBILITY_MS)
        revealed = await bench.reveal()

        assert (revealed.visible, revealed.expired) == (0, [1])
        assert await bench.numbers() == (0, 0, 0)

    async def test_delayed_message_expires_when_it_comes_due(self, bench: CacheBench) -> None:
        await bench.put(1, delay_ms=1_000, age_ms=RETENTION_MS)

        await bench.advance(1_000)

        assert (await bench.reveal()).expired == [1]

    async def test_reveal_drops_expired_messages_from_the_head(self, bench: CacheBench) -> None:
        await bench.put(1, age_ms=RETENTION_MS)
        await bench.put(2, age_ms=RETENTION_MS - 1)
        await bench.put(3)
        await bench.advance(1)

        revealed = await bench.reveal()

        assert (revealed.visible, revealed.expired) == (0, [1, 2])
        assert await bench.numbers() == (1, 0, 0)
        assert bench.is_near(revealed.next_ms, bench.now_ms() - 1 + RETENTION_MS)

    async def test_shorter_retention_expires_what_is_stored(self, bench: CacheBench) -> None:
        await bench.put(1, age_ms=120_000)
        await bench.take(1)
        bench.retention_ms = 60_000

        await bench.run_out()

        assert await bench.numbers() == (0, 0, 0)

    async def test_expired_message_is_gone_for_its_lease(self, bench: CacheBench) -> None:
        await bench.put(1, age_ms=RETENTION_MS - VISIBILITY_MS)
        received = await bench.take_one()
        await bench.run_out()

        assert await bench.hide(received, 0) is Outcome.GONE

    async def test_over_received_message_is_handed_back_dead(self, bench: CacheBench) -> None:
        await bench.put(1)
        await bench.take(visibility_ms=0)
        await bench.take(visibility_ms=0)
        await bench.put(2)
        third = {one.address: one for one in (await bench.take(visibility_ms=0)).received}[1]
        assert third.receive_count == 3

        taken = await bench.take(receive_count_max=3)

        assert of(taken) == [2]
        (dead,) = taken.dead
        assert (dead.address, dead.receive_count, dead.first_receive_ms) == (1, 3, third.first_receive_ms)
        assert dead.receive_number > third.receive_number
        assert bench.is_near(dead.hidden_until_ms, bench.now_ms() + DEAD_LEASE_MS)

    async def test_dead_message_nobody_moved_comes_back_dead_and_uncounted(self, bench: CacheBench) -> None:
        await bench.put(1)
        await bench.take(visibility_ms=0)
        first = await bench.take(receive_count_max=1)
        assert of(first.dead) == [1]
        assert await bench.numbers() == (0, 1, 0)

        await bench.run_out(DEAD_LEASE_MS)

        again = await bench.take(receive_count_max=1)
        assert [(one.address, one.receive_count) for one in again.dead] == [(1, 1)]
        assert of(again) == []

    async def test_moved_dead_message_is_gone(self, bench: CacheBench) -> None:
        await bench.put(1)
        await bench.take(visibility_ms=0)
        await bench.take(receive_count_max=1)

        assert await bench.remove(1) == 1

        await bench.run_out(DEAD_LEASE_MS)
        assert await bench.numbers() == (0, 0, 0)

    async def test_dead_messages_do_not_keep_others_from_being_taken(self, bench: CacheBench) -> None:
        await bench.put(1, 2, 3)
        await bench.take(3, visibility_ms=0)
        await bench.put(4, 5)

        taken = await bench.take(2, receive_count_max=1)

        assert sorted(of(taken.dead)) == [1, 2, 3]
        assert of(taken) == [4, 5]

    async def test_no_more_than_a_batch_of_dead_messages_a_take(self, bench: CacheBench) -> None:
        await bench.put(*range(1, DEAD_BATCH_MAX + 11))
        await bench.take(DEAD_BATCH_MAX + 10, visibility_ms=0)

        assert len((await bench.take(receive_count_max=1)).dead) == DEAD_BATCH_MAX
        assert len((await bench.take(receive_count_max=1)).dead) == 10

    async def test_no_dead_letter_queue_no_dead_messages(self, bench: CacheBench) -> None:
        await bench.put(1)
        for _ in range(5):
            await bench.take(visibility_ms=0)

        assert of(await bench.take()) == [1]

    async def test_whoever_takes_while_the_delay_is_changed_gets_a_group_in_order(self, fifo: CacheBench) -> None:
        numbers = list(range(1, 1_301))
        ages = {number: len(numbers) - number for number in numbers}
        await fifo.cache.put(
            fifo.shard,
            [fifo.entry(one, group="a", delay_ms=60_000 - age, age_ms=age) for one, age in ages.items()],
        )
        taken: list[int] = []

        async def take_all() -> None:
            for _ in range(20):
                await fifo.reveal()
                some = of(await fifo.take(100))
                await fifo.remove(*some)
                taken.extend(some)

        await fifo.advance(59_000)
        await asyncio.gather(fifo.cache.redelay(fifo.shard, 600_000), take_all())
        assert taken == numbers[: len(taken)]
        await asyncio.gather(fifo.cache.redelay(fifo.shard, 0), take_all())
        assert taken == numbers
