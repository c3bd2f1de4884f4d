"""Browsing: pages of messages in one state, at a cost that does not grow with the shard."""

from __future__ import annotations

from cqs.cache.entry import State
from cqs.cache.page import Page
from cqs.message import Message
from tests.contract.cache_bench import RETENTION_MS, CacheBench, of


async def browsed(bench: CacheBench, state: State, limit: int) -> list[list[int]]:
    """Returns the messages of all pages."""
    pages, after = list[list[int]](), None
    while True:
        page = await bench.cache.browse(bench.shard, state, after, limit)
        assert len(page.entries) <= limit
        pages.append(of(page.entries))
        after = page.after
        if after is None:
            return pages


async def all_of(bench: CacheBench, state: State, limit: int = 2) -> list[int]:
    return [number for page in await browsed(bench, state, limit) for number in page]


class BrowseRules:
    async def test_browsing_shows_each_message_of_one_state_once(self, bench: CacheBench) -> None:
        await bench.put(1, 2, 3, 4, 5)
        await bench.put(6, 7, 8, delay_ms=1_000)
        await bench.put(9)
        taken = of(await bench.take(2))

        for limit in (1, 2, 3, 500):
            assert sorted(await all_of(bench, State.IN_FLIGHT, limit)) == sorted(taken)
            assert sorted(await all_of(bench, State.READY, limit)) == sorted({1, 2, 3, 4, 5, 9} - set(taken))
            assert sorted(await all_of(bench, State.DELAYED, limit)) == [6, 7, 8]

    async def test_browsing_shows_what_was_sent_first_first(self, bench: CacheBench) -> None:
        for number in range(1, 8):
            await bench.put(number, age_ms=10_000 - number)

        assert await all_of(bench, State.READY, 3) == [1, 2, 3, 4, 5, 6, 7]

    async def test_full_last_page_of_browsing_is_the_last(self, bench: CacheBench) -> None:
        await bench.put(1, 2, 3)
        await bench.put(4, 5, 6, delay_ms=1_000)

        assert [len(page) for page in await browsed(bench, State.READY, 3)] == [3]
        assert [len(page) for page in await browsed(bench, State.DELAYED, 3)] == [3]

    async def test_browsing_goes_on_behind_any_message_of_a_page(self, bench: CacheBench) -> None:
        for number in range(1, 8):
            await bench.put(number, age_ms=10_000 - number)
        page = await bench.cache.browse(bench.shard, State.READY, None, 5)

        for place in range(len(page.entries)):
            rest = await bench.cache.browse(bench.shard, State.READY, page.after_entry(place), 100)
            assert of(rest.entries) == list(range(place + 2, 8))

    async def test_nothing_that_stays_is_missed_while_messages_leave_and_come(self, bench: CacheBench) -> None:
        """Positions shift when earlier messages leave, so the next page starts after the last message shown."""
        for number in range(1, 9):
            await bench.put(number, age_ms=10_000 - number)
        page = await bench.cache.browse(bench.shard, State.READY, None, 4)
        assert of(page.entries) == [1, 2, 3, 4]

        assert of(await bench.take(3)) == [1, 2, 3]
        await bench.put(9)

        assert await _rest(bench, page) == [5, 6, 7, 8, 9]

    async def test_browsing_goes_on_when_all_that_was_shown_has_left(self, bench: CacheBench) -> None:
        if bench.shard.is_fifo:
            return
        await bench.put(*range(1, 9))
        page = await bench.cache.browse(bench.shard, State.READY, None, 2)

        assert of(await bench.take(4)) == [1, 2, 3, 4]

        assert await _rest(bench, page) == [5, 6, 7, 8]

    async def test_removed_messages_are_passed_over(self, bench: CacheBench) -> None:
        for number in range(1, 8):
            await bench.put(number, age_ms=10_000 - number)
        await bench.remove(1, 2, 3, 6)

        assert await all_of(bench, State.READY, 2) == [4, 5, 7]
        assert await all_of(bench, State.READY, 500) == [4, 5, 7]

    async def test_message_that_came_back_is_seen_once(self, bench: CacheBench) -> None:
        await bench.put(1, 2, 3)
        taken = (await bench.take(3)).received
        await bench.hide(taken[1], 0)
        await bench.hide(taken[0], 0)

        assert sorted(await all_of(bench, State.READY, 1)) == sorted(one.address for one in taken[:2])
        assert await all_of(bench, State.IN_FLIGHT, 1) == [taken[2].address]

    async def test_browsing_never_hides_counts_or_moves(self, bench: CacheBench) -> None:
        await bench.put(1, 2, 3)
        for state in State:
            await all_of(bench, state)

        assert await bench.numbers() == (3, 0, 0)
        taken = await bench.take()
        assert of(taken) == [1, 2, 3]
        assert [one.receive_count for one in taken.received] == [1, 1, 1]

    async def test_browsed_message_is_told_as_by_a_look_up(self, bench: CacheBench) -> None:
        entry = bench.entry(1)
        entry.message = Message(address=1, body="naïve \N{SNOWMAN}", sent_ms=entry.sent_ms, group=entry.group)
        await bench.cache.put(bench.shard, [entry])
        for state, number in ((State.READY, 0), (State.IN_FLIGHT, 1)):
            if number:
                await bench.take()
            page = await bench.cache.browse(bench.shard, state, None, 10)
            assert page.entries == await bench.cache.lookup(bench.shard, [1])
            assert page.after is None

    async def test_messages_that_make_room_for_quiet_tenants_are_shown_too(self, standard: CacheBench) -> None:
        await standard.put(*range(1, 61), group="loud")
        await standard.put(101, 102, group="quiet")
        await standard.take(30)
        assert of(await standard.take(1)) == [101]

        assert sorted(await all_of(standard, State.READY, 4)) == [*range(31, 61), 102]

    async def test_bare_page_may_leave_contents_out_and_nothing_else(self, bench: CacheBench) -> None:
        await bench.put(1, group="a")

        (entry,) = (await bench.cache.browse(bench.shard, State.READY, None, 10, is_bare=True)).entries

        assert (entry.address, entry.group, entry.state) == (1, "a", State.READY)

    async def test_absent_shard_and_a_strange_place_are_no_error(self, absent: CacheBench) -> None:
        assert await all_of(absent, State.READY) == []
        await absent.open(absent.entry(1))

        for after in (0, 7, 1 << 90, -1):
            await absent.cache.browse(absent.shard, State.READY, after, 10)

    async def test_what_came_while_it_was_filled_stands_behind(self, absent: CacheBench) -> None:
        epoch = await absent.cache.begin_fill(absent.shard, RETENTION_MS)
        assert epoch is not None
        await absent.put(5, 6)
        older = [absent.entry(number, age_ms=9_000 - number) for number in (1, 2, 3)]
        await absent.cache.fill(absent.shard, epoch, older, is_last=True)

        assert await all_of(absent, State.READY, 2) == [1, 2, 3, 5, 6]


async def _rest(bench: CacheBench, page: Page) -> list[int]:
    rest = await bench.cache.browse(bench.shard, State.READY, page.after, 100)
    return of(rest.entries)
