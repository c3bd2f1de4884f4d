"""FIFO shards (sqs.md A5): order within groups, group locks, fairness between groups, and the receive attempt id."""

from __future__ import annotations

import pytest

from cqs.cache.interface import Outcome
from tests.contract.cache_bench import VISIBILITY_MS, CacheBench, of, tickets


class FifoRules:
    async def test_group_is_taken_in_order_of_sequence_numbers(self, fifo: CacheBench) -> None:
        await fifo.put(1, 2, group="a")
        await fifo.put(5, group="a")

        await fifo.put(4, 3, group="a")

        assert of(await fifo.take()) == [1, 2, 3, 4, 5]

    async def test_nothing_of_a_group_after_its_first_in_flight(self, fifo: CacheBench) -> None:
        await fifo.put(1, 2, 3, group="a")
        assert of(await fifo.take(1)) == [1]

        assert of(await fifo.take()) == []

        await fifo.remove(1)
        assert of(await fifo.take()) == [2, 3]

    async def test_sending_to_a_locked_group_does_not_unlock_it(self, fifo: CacheBench) -> None:
        await fifo.put(1, group="a")
        await fifo.take()

        await fifo.put(2, group="a")

        assert of(await fifo.take()) == []

    async def test_deleting_part_of_a_batch_keeps_the_group_locked(self, fifo: CacheBench) -> None:
        await fifo.put(1, 2, 3, 4, group="a")
        await fifo.take(3)

        await fifo.remove(1, 2)
        assert of(await fifo.take()) == []

        await fifo.remove(3)
        assert of(await fifo.take()) == [4]

    @pytest.mark.parametrize(("extended", "expected"), [(1, []), (2, [1]), (3, [1, 2])])
    async def test_recorded_lock_after_extending_one_of_three(
        self, fifo: CacheBench, extended: int, expected: list[int]
    ) -> None:
        await fifo.put(1, 2, 3, group="a")
        received = (await fifo.take(3)).received
        await fifo.hide(received[extended - 1], VISIBILITY_MS * 2)

        await fifo.run_out()

        assert of(await fifo.take()) == expected

    async def test_returned_messages_keep_their_place_in_the_group(self, fifo: CacheBench) -> None:
        await fifo.put(1, 2, 3, group="a")
        first, second = (await fifo.take(2)).received

        await fifo.hide(second, 0)
        assert of(await fifo.take()) == []
        await fifo.hide(first, 0)

        assert of(await fifo.take()) == [1, 2, 3]

    async def test_place_is_kept_however_often_received(self, fifo: CacheBench) -> None:
        await fifo.put(1, 2, group="a")
        for _ in range(4):
            await fifo.hide(await fifo.take_one(), 0)

        assert of(await fifo.take()) == [1, 2]

    async def test_delayed_message_does_not_block_visible_ones(self, fifo: CacheBench) -> None:
        await fifo.put(1, group="a", delay_ms=60_000)
        await fifo.put(2, group="a")

        assert of(await fifo.take()) == [2]

    async def test_due_message_stands_in_its_place(self, fifo: CacheBench) -> None:
        await fifo.put(1, group="a", delay_ms=1_000)
        await fifo.put(2, group="a")

        await fifo.run_out(1_000)

        assert of(await fifo.take()) == [1, 2]

    async def test_message_put_late_before_an_in_flight_one_may_be_taken(self, fifo: CacheBench) -> None:
        await fifo.put(2, 3, group="a")
        await fifo.take(1)

        await fifo.put(1, group="a")

        assert of(await fifo.take()) == [1]

    async def test_as_many_of_one_group_as_possible_then_others(self, fifo: CacheBench) -> None:
        await fifo.put(1, group="a")
        await fifo.put(2, group="b")
        await fifo.put(3, group="a")
        await fifo.put(4, group="b")

        assert of(await fifo.take(3)) == [1, 3, 2]

    async def test_groups_take_turns(self, fifo: CacheBench) -> None:
        await fifo.put(1, 2, 3, group="a")
        await fifo.put(11, 12, group="b")

        order = []
        while taken := of(await fifo.take(1)):
            order += taken
            await fifo.remove(*taken)

        assert order == [1, 11, 2, 12, 3]

    async def test_group_of_a_given_back_message_keeps_its_turn(self, fifo: CacheBench) -> None:
        await fifo.put(1, 2, group="a")
        await fifo.put(11, group="b")
        taken = await fifo.take(1)

        await fifo.cache.give_back(fifo.shard, tickets(taken))

        assert of(await fifo.take(1)) == [1]

    async def test_giving_back_part_of_a_batch_keeps_what_follows_locked(self, fifo: CacheBench) -> None:
        await fifo.put(1, 2, 3, 4, group="a")
        taken = await fifo.take(3)

        await fifo.cache.give_back(fifo.shard, tickets(taken)[:2])

        assert of(await fifo.take()) == [1, 2]
        assert of(await fifo.take()) == []

    async def test_lease_that_ran_out_is_stale(self, fifo: CacheBench) -> None:
        await fifo.put(1, 2)
        unrevealed, revealed = (await fifo.take()).received
        await fifo.hide(revealed, 1_000)
        await fifo.run_out(1_000)
        await fifo.advance(VISIBILITY_MS)

        assert await fifo.hide(revealed, 5_000) is Outcome.STALE
        assert await fifo.hide(unrevealed, 5_000) is Outcome.STALE
        assert await fifo.fence(revealed, unrevealed) == [Outcome.STALE, Outcome.STALE]

    async def test_repeated_attempt_restarts_the_timeout(self, fifo: CacheBench) -> None:
        await fifo.put(1)
        await fifo.take(request_id="attempt", replay_ms=300_000)
        await fifo.advance(VISIBILITY_MS - 1_000)

        again = await fifo.take(request_id="attempt", replay_ms=300_000)

        assert fifo.is_near(again.received[0].hidden_until_ms, fifo.now_ms() + VISIBILITY_MS)
        await fifo.run_out(2_000)
        assert await fifo.numbers() == (0, 1, 0)

    @pytest.mark.parametrize("change", ["delete", "extend", "shorten", "run out"])
    async def test_attempt_is_void_once_a_message_was_deleted_changed_or_ran_out(
        self, fifo: CacheBench, change: str
    ) -> None:
        await fifo.put(1, 2, 3)
        one, _ = (await fifo.take(2, request_id="attempt", replay_ms=300_000)).received

        if change == "delete":
            await fifo.remove(1)
        elif change == "run out":
            await fifo.run_out()
        else:
            await fifo.hide(one, 60_000 if change == "extend" else 0)

        again = await fifo.take(1, request_id="attempt", replay_ms=300_000)
        assert of(again) == [3]

    async def test_given_back_attempt_is_a_new_receive(self, fifo: CacheBench) -> None:
        await fifo.put(1)
        first = await fifo.take(request_id="attempt")
        await fifo.cache.give_back(fifo.shard, tickets(first))

        again = await fifo.take(request_id="attempt")

        assert of(again) == [1]
        assert again.received[0].receive_number > first.received[0].receive_number

    async def test_groups_with_something_in_flight_are_counted(self, fifo: CacheBench) -> None:
        await fifo.put(1, 2, group="a")
        await fifo.put(3, group="b")
        await fifo.put(4, group="c")
        await fifo.take(3)
        assert (await fifo.counts()).groups_in_flight == 2

        await fifo.remove(1)
        assert (await fifo.counts()).groups_in_flight == 2
        await fifo.remove(2)
        assert (await fifo.counts()).groups_in_flight == 1

    async def test_in_flight_limit_gives_nothing_more(self, fifo: CacheBench) -> None:
        await fifo.put(1, 2)
        await fifo.take(1, in_flight_max=1)

        assert of(await fifo.take(1, in_flight_max=1)) == []

    async def test_changed_delay_rules_messages_already_sent(self, fifo: CacheBench) -> None:
        await fifo.put(1, 2, delay_ms=60_000)
        await fifo.advance(5_000)

        await fifo.cache.redelay(fifo.shard, 10_000)
        await fifo.run_out(5_000)

        assert await fifo.numbers() == (2, 0, 0)

    async def test_delay_shortened_below_the_age_makes_ready(self, fifo: CacheBench) -> None:
        await fifo.put(1, 2, group="a", delay_ms=60_000)
        await fifo.advance(5_000)

        await fifo.cache.redelay(fifo.shard, 0)

        assert await fifo.numbers() == (2, 0, 0)
        assert of(await fifo.take()) == [1, 2]

    async def test_delay_can_be_lengthened(self, fifo: CacheBench) -> None:
        await fifo.put(1, delay_ms=1_000)

        await fifo.cache.redelay(fifo.shard, 5_000)

        await fifo.run_out(1_000)
        assert await fifo.numbers() == (0, 0, 1)
        await fifo.run_out(4_000)
        assert await fifo.numbers() == (1, 0, 0)
