"""Read-only calls: peek, lookup, counts; and the content of a message."""

from __future__ import annotations

from cqs.cache.counts import Counts
from cqs.cache.entry import State
from cqs.cache.interface import SURVEYED_MAX, Residency, Shard, ShardState, Sight
from cqs.message import Attribute, Message
from tests.contract.cache_bench import RETENTION_MS, CacheBench, of


class LookRules:
    async def test_peek_shows_one_state_in_address_order(self, bench: CacheBench) -> None:
        await bench.put(5, 3, 1)
        await bench.put(6, 2, delay_ms=1_000)
        taken = of(await bench.take(1))

        assert await bench.peek(State.IN_FLIGHT) == taken
        assert await bench.peek(State.READY) == sorted({1, 3, 5} - set(taken))
        assert await bench.peek(State.DELAYED) == [2, 6]

    async def test_peek_goes_on_page_by_page(self, bench: CacheBench) -> None:
        await bench.put(*range(1, 8))

        pages: list[list[int]] = []
        after = None
        while True:
            page = await bench.cache.peek(bench.shard, State.READY, after, 3)
            pages.append(of(page.entries))
            after = page.after
            if after is None:
                break

        assert pages == [[1, 2, 3], [4, 5, 6], [7]]

    async def test_full_last_page_is_the_last(self, bench: CacheBench) -> None:
        await bench.put(1, 2, 3)

        assert (await bench.cache.peek(bench.shard, State.READY, None, 3)).after is None

    async def test_peek_sees_what_came_since_the_last_page(self, bench: CacheBench) -> None:
        await bench.put(1, 2)
        assert await bench.peek(State.READY) == [1, 2]
        await bench.put(3)
        await bench.remove(1)

        assert await bench.peek(State.READY, after=1) == [2, 3]

    async def test_peek_never_hides_counts_or_moves(self, bench: CacheBench) -> None:
        await bench.put(1, 2, 3)

        for state in State:
            await bench.peek(state, limit=1)

        assert await bench.numbers() == (3, 0, 0)
        taken = await bench.take()
        assert of(taken) == [1, 2, 3]
        assert [one.receive_count for one in taken.received] == [1, 1, 1]

    async def test_peeked_message_tells_its_lease(self, bench: CacheBench) -> None:
        await bench.put(1)
        received = await bench.take_one()

        (entry,) = (await bench.cache.peek(bench.shard, State.IN_FLIGHT, None, 10)).entries

        assert (entry.state, entry.receive_count) == (State.IN_FLIGHT, 1)
        assert entry.visible_ms == received.hidden_until_ms
        assert entry.receive_number == received.receive_number
        assert entry.sent_ms == received.sent_ms

    async def test_page_stays_as_it_was_seen(self, bench: CacheBench) -> None:
        await bench.put(1)
        (entry,) = (await bench.cache.peek(bench.shard, State.READY, None, 10)).entries

        await bench.take()

        assert (entry.state, entry.receive_count) == (State.READY, 0)

    async def test_lookup_finds_messages_in_any_state(self, bench: CacheBench) -> None:
        await bench.put(1, 2)
        await bench.put(3, delay_ms=1_000)
        await bench.take(1)

        found = await bench.cache.lookup(bench.shard, [3, 4, 1, 2])

        assert [None if one is None else (one.address, one.state) for one in found] == [
            (3, State.DELAYED),
            None,
            (1, State.IN_FLIGHT),
            (2, State.READY),
        ]

    async def test_counts_follow_every_move(self, bench: CacheBench) -> None:
        await bench.put(1, 2, 3)
        await bench.put(4, delay_ms=1_000)
        assert await bench.numbers() == (3, 0, 1)

        first, second = (await bench.take(2)).received
        assert await bench.numbers() == (1, 2, 1)
        await bench.hide(first, 0)
        assert await bench.numbers() == (2, 1, 1)
        await bench.remove(second.address, 4)
        assert await bench.numbers() == (2, 0, 0)

    async def test_survey_tells_of_many_shards_what_each_tells_alone(self, bench: CacheBench) -> None:
        await bench.put(1, 2, 3)
        await bench.take(1)
        others = [await bench.sibling(storage_id) for storage_id in range(2, SURVEYED_MAX + 7)]
        for number, other in enumerate(others, 10):
            await other.put(*range(number, number + number % 4), delay_ms=number % 2 * 1_000)
        absent = Shard(9_999, bench.shard.is_fifo)
        shards = [*(other.shard for other in others), absent, bench.shard]

        found = await bench.cache.survey(shards)

        alone = [Sight(await bench.cache.state(shard), await bench.cache.counts(shard)) for shard in shards]
        assert found == alone
        assert [one and one.state.residency for one in found[-2:]] == [Residency.ABSENT, Residency.READY]
        assert await bench.cache.survey([]) == []

    async def test_survey_sees_a_shard_that_is_being_filled(self, bench: CacheBench) -> None:
        shard = Shard(9_999, bench.shard.is_fifo)
        epoch = await bench.cache.begin_fill(shard, RETENTION_MS)
        assert epoch is not None

        (found,) = await bench.cache.survey([shard])

        assert found == Sight(ShardState(Residency.INITIALIZING, epoch), Counts())

    async def test_age_is_that_of_the_longest_waiting(self, bench: CacheBench) -> None:
        assert (await bench.counts()).oldest_ms is None
        await bench.put(1, age_ms=9_000)
        await bench.put(2, age_ms=5_000)
        await bench.put(3)
        assert bench.is_near((await bench.counts()).oldest_ms, bench.now_ms() - 9_000)

        await bench.take(1)
        assert bench.is_near((await bench.counts()).oldest_ms, bench.now_ms() - 5_000)

        await bench.remove(2, 3)
        assert (await bench.counts()).oldest_ms is None

    async def test_delayed_message_has_no_age(self, bench: CacheBench) -> None:
        await bench.put(1, delay_ms=1_000)

        assert (await bench.counts()).oldest_ms is None

    async def test_message_received_three_times_does_not_count_for_the_age(self, bench: CacheBench) -> None:
        await bench.put(1, age_ms=9_000)
        for _ in range(3):
            await bench.take(visibility_ms=0)
        assert (await bench.counts()).oldest_ms is None

        await bench.put(2, age_ms=1_000)
        assert bench.is_near((await bench.counts()).oldest_ms, bench.now_ms() - 1_000)

    async def test_content_comes_along_when_it_is_kept(self, bench: CacheBench) -> None:
        entry = bench.entry(1)
        expected = entry.message = Message(
            address=1,
            body="naïve \N{SNOWMAN}",
            sent_ms=entry.sent_ms,
            visible_ms=2,
            sender_id="AIDA",
            attributes=(Attribute("n", "Number", b"1"), Attribute("b", "Binary.x", b"\x00\xff")),
            trace_header="Root=1",
            group=entry.group,
            dedup_id="d",
            sequence=1 << 62,
            moved_id="0-1",
            source_arn="arn:aws:sqs:us-east-1:0:a",
            earlier_receives=3,
            earlier_first_ms=4,
        )
        await bench.cache.put(bench.shard, [entry])

        received = await bench.take_one()

        assert received.message == expected
        assert received.group == entry.group
        assert received.sent_ms == entry.sent_ms
