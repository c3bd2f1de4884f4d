"""Leases, on standard and FIFO shards alike: take, hide, fence, give back, and repeated takes."""

from __future__ import annotations

from cqs.cache.interface import Outcome, Ticket
from tests.contract.cache_bench import VISIBILITY_MS, CacheBench, of, tickets


class LeaseRules:
    async def test_taken_message_is_hidden_counted_and_numbered(self, bench: CacheBench) -> None:
        await bench.put(1)

        received = await bench.take_one(visibility_ms=5_000)

        assert (received.address, received.sequence) == (1, 1 if bench.shard.is_fifo else 0)
        assert received.receive_count == 1
        assert received.receive_number > 0
        assert bench.is_near(received.received_ms, bench.now_ms())
        assert received.first_receive_ms == received.received_ms
        assert received.hidden_until_ms == received.received_ms + 5_000
        assert of(await bench.take()) == []
        assert await bench.numbers() == (0, 1, 0)

    async def test_take_gives_no_more_than_asked_for(self, bench: CacheBench) -> None:
        await bench.put(1, 2, 3)

        assert of(await bench.take(2)) == [1, 2]
        assert of(await bench.take(2)) == [3]

    async def test_each_receive_has_a_higher_number_and_count_and_the_first_time_stays(self, bench: CacheBench) -> None:
        await bench.put(1)
        first = await bench.take_one()
        await bench.run_out()

        second = await bench.take_one()

        assert second.receive_number > first.receive_number
        assert second.receive_count == 2
        assert second.first_receive_ms == first.first_receive_ms
        assert second.received_ms > first.received_ms

    async def test_receive_numbers_fit_53_bits(self, bench: CacheBench) -> None:
        await bench.put(1)

        assert 0 < (await bench.take_one()).receive_number < 1 << 53

    async def test_take_with_no_visibility_counts_and_leaves_ready(self, bench: CacheBench) -> None:
        await bench.put(1, 2)

        looked = await bench.take(visibility_ms=0)

        assert of(looked) == [1, 2]
        assert await bench.numbers() == (2, 0, 0)
        again = await bench.take()
        assert of(again) == [1, 2]
        assert [one.receive_count for one in again.received] == [2, 2]

    async def test_hide_moves_the_end_of_the_lease_both_ways(self, bench: CacheBench) -> None:
        await bench.put(1, 2)
        longer, shorter = (await bench.take()).received

        assert await bench.hide(longer, VISIBILITY_MS * 2) is Outcome.DONE
        assert await bench.hide(shorter, 1_000) is Outcome.DONE

        await bench.run_out(1_000)
        assert of(await bench.take()) == [2]
        await bench.run_out(VISIBILITY_MS * 2 - 1_000)
        assert 1 in of(await bench.take())

    async def test_hide_until_now_makes_ready_at_once(self, bench: CacheBench) -> None:
        await bench.put(1)
        received = await bench.take_one()

        assert await bench.hide(received, 0) is Outcome.DONE

        assert await bench.numbers() == (1, 0, 0)
        assert (await bench.take_one()).receive_count == 2

    async def test_older_lease_can_not_hide(self, bench: CacheBench) -> None:
        await bench.put(1)
        old = await bench.take_one()
        await bench.run_out()
        new = await bench.take_one()

        assert await bench.hide(old, 0) is Outcome.STALE

        assert await bench.numbers() == (0, 1, 0)
        assert await bench.hide(new, 0) is Outcome.DONE

    async def test_hide_of_an_unknown_message_is_gone(self, bench: CacheBench) -> None:
        await bench.put(1)
        received = await bench.take_one()
        await bench.remove(1)

        assert await bench.hide(received, 0) is Outcome.GONE

    async def test_a_ticket_nobody_was_given_is_stale(self, bench: CacheBench) -> None:
        await bench.put(1)

        for number in (0, 7):
            assert await bench.cache.hide(bench.shard, Ticket(1, number), bench.now_ms() + 1_000) is Outcome.STALE

        assert await bench.numbers() == (1, 0, 0)

    async def test_fenced_lease_lasts_long_enough(self, bench: CacheBench) -> None:
        await bench.put(1)
        received = await bench.take_one(visibility_ms=1_000)

        assert await bench.fence(received, hold_ms=5_000) == [Outcome.DONE]

        await bench.run_out(4_000)
        assert await bench.numbers() == (0, 1, 0)
        await bench.run_out(1_000)
        assert await bench.numbers() == (1, 0, 0)

    async def test_fence_never_shortens_a_lease(self, bench: CacheBench) -> None:
        await bench.put(1)
        received = await bench.take_one()

        await bench.fence(received, hold_ms=10)

        await bench.run_out(1_000)
        assert await bench.numbers() == (0, 1, 0)

    async def test_fence_answers_each_ticket_by_itself(self, bench: CacheBench) -> None:
        await bench.put(1, 2, 3)
        gone, old, living = (await bench.take()).received
        await bench.remove(1)
        await bench.hide(old, 0)
        await bench.take_one()

        assert await bench.fence(gone, old, living) == [Outcome.GONE, Outcome.STALE, Outcome.DONE]

    async def test_given_back_messages_are_ready_in_the_old_place_and_not_counted(self, bench: CacheBench) -> None:
        await bench.put(1, 2, 3, 4)
        taken = await bench.take(3)

        assert await bench.cache.give_back(bench.shard, tickets(taken)) == 3

        assert await bench.numbers() == (4, 0, 0)
        again = await bench.take()
        assert of(again) == [1, 2, 3, 4]
        assert [one.receive_count for one in again.received] == [1, 1, 1, 1]

    async def test_first_receive_time_starts_anew_after_the_only_receive_was_given_back(
        self, bench: CacheBench
    ) -> None:
        await bench.put(1)
        taken = await bench.take()
        await bench.cache.give_back(bench.shard, tickets(taken))
        await bench.advance(1_000)

        received = await bench.take_one()

        assert received.first_receive_ms == received.received_ms

    async def test_giving_back_twice_or_late_does_nothing(self, bench: CacheBench) -> None:
        await bench.put(1, 2)
        taken = await bench.take(1)
        assert await bench.cache.give_back(bench.shard, tickets(taken)) == 1
        assert await bench.cache.give_back(bench.shard, tickets(taken)) == 0
        newer = await bench.take(2)

        assert await bench.cache.give_back(bench.shard, tickets(taken)) == 0

        await bench.remove(2)
        assert await bench.cache.give_back(bench.shard, tickets(newer)) == 1
        assert await bench.numbers() == (1, 0, 0)

    async def test_repeated_take_gives_the_same_messages_and_numbers(self, bench: CacheBench) -> None:
        await bench.put(1, 2, 3)
        first = await bench.take(2, request_id="attempt")

        again = await bench.take(2, request_id="attempt")

        assert tickets(again) == tickets(first)
        assert [one.receive_count for one in again.received] == [1, 1]
        assert [one.received_ms for one in again.received] == [one.received_ms for one in first.received]
        assert await bench.numbers() == (1, 2, 0)

    async def test_another_request_id_is_another_take(self, bench: CacheBench) -> None:
        await bench.put(1, 2)

        assert of(await bench.take(1, request_id="one")) == [1]
        assert of(await bench.take(1, request_id="two")) == [2]

    async def test_answer_is_forgotten_after_its_time(self, bench: CacheBench) -> None:
        await bench.put(1, 2)
        await bench.take(1, request_id="attempt", replay_ms=2_000)
        await bench.advance(2_001)

        assert of(await bench.take(1, request_id="attempt", replay_ms=2_000)) == [2]

    async def test_empty_answer_is_not_kept(self, bench: CacheBench) -> None:
        assert of(await bench.take(request_id="attempt")) == []
        await bench.put(1)

        assert of(await bench.take(request_id="attempt")) == [1]

    async def test_removed_messages_are_known_no_more(self, bench: CacheBench) -> None:
        await bench.put(1, 2)
        await bench.put(3, delay_ms=1_000)
        await bench.take(1)

        assert await bench.remove(1, 2, 3, 4) == 3

        assert await bench.remove(1, 2, 3, 4) == 0
        assert await bench.numbers() == (0, 0, 0)
        await bench.run_out()
        assert of(await bench.take()) == []

    async def test_put_of_a_known_message_changes_nothing(self, bench: CacheBench) -> None:
        await bench.put(1, 2)
        received = await bench.take_one()

        await bench.put(1, 2)

        assert await bench.numbers() == (1, 1, 0)
        assert of(await bench.take()) == [2]
        assert await bench.fence(received) == [Outcome.DONE]

    async def test_put_with_a_lease_is_in_flight_until_its_own_time(self, bench: CacheBench) -> None:
        number = 1 << 52
        await bench.cache.put(bench.shard, [bench.leased(1, for_ms=5_000, receives=2, receive_number=number)])

        assert await bench.numbers() == (0, 1, 0)
        assert await bench.cache.hide(bench.shard, Ticket(1, number), bench.now_ms() + 8_000) is Outcome.DONE
        await bench.run_out(8_000)
        again = await bench.take_one()
        assert (again.receive_count, again.receive_number > number) == (3, True)

    async def test_first_lease_that_is_put_has_the_message(self, bench: CacheBench) -> None:
        for number in (9, 8, 10):
            await bench.cache.put(bench.shard, [bench.leased(1, for_ms=5_000, receive_number=number)])

        (entry,) = await bench.cache.lookup(bench.shard, [1])

        assert entry is not None
        assert entry.receive_number == 9

    async def test_take_has_a_higher_number_than_a_lease_that_was_put_without_effect(self, bench: CacheBench) -> None:
        number = 1 << 52
        await bench.put(1)
        await bench.cache.put(bench.shard, [bench.leased(1, for_ms=5_000, receive_number=number)])

        assert (await bench.take_one()).receive_number > number
