"""The order of a standard shard, and what its newest lease permits."""

from __future__ import annotations

from cqs.cache.interface import Outcome
from tests.contract.cache_bench import VISIBILITY_MS, CacheBench, of, tickets


class StandardRules:
    async def test_what_was_put_first_is_taken_first(self, standard: CacheBench) -> None:
        await standard.put(1, 2)
        await standard.put(3)

        assert of(await standard.take()) == [1, 2, 3]

    async def test_what_ran_out_comes_back_in_front_in_its_order(self, standard: CacheBench) -> None:
        await standard.put(1, 2, 3)
        await standard.take(2)
        await standard.put(4)

        await standard.run_out()

        assert of(await standard.take()) == [1, 2, 3, 4]

    async def test_what_was_made_visible_comes_back_in_front(self, standard: CacheBench) -> None:
        await standard.put(1, 2)
        received = await standard.take_one()

        await standard.hide(received, 0)

        assert of(await standard.take()) == [1, 2]

    async def test_received_three_times_goes_to_the_back(self, standard: CacheBench) -> None:
        await standard.put(1, 2)
        for _ in range(2):
            await standard.hide(await standard.take_one(), 0)
        third = await standard.take_one()
        assert (third.address, third.receive_count) == (1, 3)

        await standard.hide(third, 0)

        assert of(await standard.take()) == [2, 1]

    async def test_received_three_times_goes_to_the_back_when_it_runs_out(self, standard: CacheBench) -> None:
        await standard.put(1, 2)
        for _ in range(2):
            await standard.hide(await standard.take_one(), 0)
        await standard.take_one()

        await standard.run_out()

        assert of(await standard.take()) == [2, 1]

    async def test_given_back_stands_in_front_however_often_received(self, standard: CacheBench) -> None:
        await standard.put(1, 2)
        for _ in range(3):
            await standard.hide(await standard.take_one(), 0)
        await standard.remove(2)
        taken = await standard.take(1)
        await standard.put(3)

        await standard.cache.give_back(standard.shard, tickets(taken))

        assert of(await standard.take()) == [1, 3]

    async def test_delayed_message_joins_the_back_when_due(self, standard: CacheBench) -> None:
        await standard.put(1, delay_ms=1_000)
        await standard.put(2)

        await standard.run_out(1_000)

        assert of(await standard.take()) == [2, 1]

    async def test_newest_lease_may_hide_after_it_ran_out(self, standard: CacheBench) -> None:
        await standard.put(1, 2)
        received = await standard.take_one()
        await standard.run_out()

        assert await standard.hide(received, 5_000) is Outcome.DONE

        assert await standard.numbers() == (1, 1, 0)
        assert of(await standard.take()) == [2]
        await standard.run_out(5_000)
        assert of(await standard.take()) == [1]

    async def test_newest_lease_may_hide_what_is_due_but_not_yet_revealed(self, standard: CacheBench) -> None:
        await standard.put(1)
        received = await standard.take_one()
        await standard.advance(VISIBILITY_MS)

        assert await standard.hide(received, 5_000) is Outcome.DONE

        assert (await standard.reveal()).visible == 0
        assert await standard.numbers() == (0, 1, 0)

    async def test_hiding_from_the_middle_leaves_the_others_in_order(self, standard: CacheBench) -> None:
        await standard.put(1, 2, 3, 4)
        _, second, *_ = (await standard.take(3)).received
        await standard.run_out()

        await standard.hide(second, 5_000)
        await standard.hide(second, 0)

        assert of(await standard.take()) == [2, 1, 3, 4]

    async def test_hidden_from_the_middle_leaves_nothing_of_itself_there(self, standard: CacheBench) -> None:
        await standard.put(1)
        for _ in range(3):
            received = await standard.take_one()
            await standard.hide(received, 0)
        await standard.put(2, 3)

        await standard.hide(received, 5_000)
        await standard.hide(received, 0)

        assert of(await standard.take()) == [2, 3, 1]

    async def test_removed_from_the_middle_leaves_the_others_in_order(self, standard: CacheBench) -> None:
        await standard.put(*range(1, 301))

        await standard.remove(*(number for number in range(1, 301) if number % 3))

        left: list[int] = []
        while taken := of(await standard.take()):
            left += taken
        assert left == list(range(3, 301, 3))

    async def test_as_many_in_flight_as_allowed_is_over_the_limit(self, standard: CacheBench) -> None:
        await standard.put(1, 2, 3, 4)
        some = await standard.take(2, in_flight_max=3)
        assert not some.is_over_limit
        assert of(await standard.take(2, in_flight_max=3)) == [3]

        refused = await standard.take(2, in_flight_max=3)

        assert refused.is_over_limit
        assert of(refused) == []
        await standard.remove(*of(some))
        assert of(await standard.take(2, in_flight_max=3)) == [4]
