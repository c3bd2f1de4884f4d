"""Rows of the Cassandra store on a real node: tombstones, marks, late arrivals, stamps, damage, purges."""

from __future__ import annotations

import asyncio

import msgspec
import pytest
from structlog.testing import capture_logs

from cqs import ids
from cqs.message import Message
from cqs.queue import Queue
from cqs.store.cassandra import CassandraStore
from cqs.store.cassandra.addresses import at_of_ms, place_of
from cqs.store.cassandra.marks import LATE_KEPT_MS, RELOAD_MS, TRAIL_MS
from cqs.store.interface import Move
from cqs.testing.clock import ManualClock
from tests.contract.cassandra_home import CassandraHome, OnCassandra, ask
from tests.contract.store_home import Maker, addresses_of, held, purged
from tests.needs import needs

pytestmark = [needs("java", "mvn"), pytest.mark.slow]

HOUR_MS = 3_600_000
TOMBSTONES = 5_000
"""More than twice what a read may meet on the test's node."""


async def fill_with_tombstones(store: CassandraStore, queue: Queue, make: Maker, clock: ManualClock) -> None:
    """TOMBSTONES of messages that were sent within some seconds."""
    for _ in range(10):
        messages = make.messages(TOMBSTONES // 10)
        await store.append(queue, messages)
        await store.delete(queue, addresses_of(messages))
        clock.advance_ms(300)
    await store.swept()


class TestTombstones(OnCassandra):
    async def test_messages_behind_too_many_tombstones_are_found(
        self, store: CassandraStore, queue: Queue, make: Maker, clock: ManualClock, home: CassandraHome
    ) -> None:
        first = make.message("first")
        await store.append(queue, [first])
        await fill_with_tombstones(store, queue, make, clock)
        last = make.messages(3)
        await store.append(queue, last)
        cold = await home.open()

        assert await cold.head(queue, 0, 10) == [first, *last]
        assert await held(cold, queue) == addresses_of([first, *last])
        assert await cold.occupied(queue, range(100)) == [0]

    async def test_a_row_of_tombstones_alone_is_empty(
        self, store: CassandraStore, queue: Queue, make: Maker, clock: ManualClock, home: CassandraHome
    ) -> None:
        await fill_with_tombstones(store, queue, make, clock)
        cold = await home.open()

        assert await cold.head(queue, 0, 10) == []
        assert await held(cold, queue) == []


class TestMarks(OnCassandra):
    async def test_a_mark_follows_what_was_deleted_and_later_nodes_start_there(
        self, store: CassandraStore, queue: Queue, make: Maker, clock: ManualClock, home: CassandraHome
    ) -> None:
        await fill_with_tombstones(store, queue, make, clock)
        clock.advance_ms(TRAIL_MS + HOUR_MS)
        kept = make.message()
        await store.append(queue, [kept])
        await store.marks.advance(queue, 0)
        await store.swept()
        cold = await home.open()
        await cold.marks.load(queue)

        assert cold.marks.floor(queue, 0) == at_of_ms(clock.now_ms() - TRAIL_MS)
        assert await cold.head(queue, 0, 10) == [kept]

    async def test_many_deletes_move_the_mark_without_anybody_reading(
        self, store: CassandraStore, queue: Queue, make: Maker, clock: ManualClock
    ) -> None:
        messages = make.messages(500)
        await store.append(queue, messages)
        clock.advance_ms(HOUR_MS)
        before = store.marks.floor(queue, 0)

        await store.delete(queue, addresses_of(messages))
        await store.swept()

        assert store.marks.floor(queue, 0) == at_of_ms(clock.now_ms() - TRAIL_MS) > before

    async def test_a_mark_stays_at_the_oldest_message(
        self, store: CassandraStore, queue: Queue, make: Maker, clock: ManualClock
    ) -> None:
        oldest, deleted = make.messages(2)
        await store.append(queue, [oldest, deleted])
        await store.delete(queue, [deleted.address])
        clock.advance_ms(HOUR_MS)

        await store.marks.advance(queue, 0)

        assert store.marks.floor(queue, 0) == ids.key_of(oldest.address)
        assert await store.head(queue, 0, 10) == [oldest]

    async def test_a_cold_start_begins_where_retention_ends(
        self, store: CassandraStore, queue: Queue, clock: ManualClock
    ) -> None:
        clock.advance_ms(queue.settings.retention_ms * 2)

        assert store.marks.floor(queue, 5) == at_of_ms(clock.now_ms() - queue.settings.retention_ms - TRAIL_MS)


class TestLateArrivals(OnCassandra):
    @pytest.fixture
    async def late(self, store: CassandraStore, queue: Queue, make: Maker, clock: ManualClock) -> Message:
        """Stored an hour after its address was made, when the mark has passed it."""
        late = make.message("late")
        clock.advance_ms(HOUR_MS)
        assert await store.head(queue, 0, 10) == []
        await store.append(queue, [late])
        return late

    async def test_a_message_stored_below_the_mark_is_found(
        self, store: CassandraStore, queue: Queue, make: Maker, home: CassandraHome, late: Message
    ) -> None:
        young = make.message("young")
        await store.append(queue, [young])
        cold = await home.open()

        for node in (store, cold):
            assert await node.head(queue, 0, 10) == [late, young]
            assert await held(node, queue) == addresses_of([late, young])
            assert await node.occupied(queue, [0, 1]) == [0]

    async def test_another_node_that_knows_the_mark_hears_of_it_within_a_second(
        self, store: CassandraStore, queue: Queue, make: Maker, clock: ManualClock, home: CassandraHome
    ) -> None:
        other = await home.open()
        late = make.message("late")
        clock.advance_ms(HOUR_MS)
        assert await other.head(queue, 0, 10) == []

        await store.append(queue, [late])
        clock.advance_ms(RELOAD_MS)

        assert await other.head(queue, 0, 10) == [late]

    async def test_a_moved_message_with_an_old_address_is_found(
        self, store: CassandraStore, queue: Queue, make: Maker, clock: ManualClock
    ) -> None:
        target = await store.create(make.queue("dead"))
        message = make.message()
        await store.append(queue, [message])
        move = Move(message.address, msgspec.structs.replace(message, address=make.address()))
        clock.advance_ms(HOUR_MS)
        assert await store.head(target, 0, 10) == []

        await store.move(queue, target, [move])

        assert await store.head(target, 0, 10) == [move.message]

    async def test_a_deleted_late_arrival_is_no_longer_looked_for_after_a_while(
        self, store: CassandraStore, queue: Queue, clock: ManualClock, home: CassandraHome, late: Message
    ) -> None:
        await store.delete(queue, [late.address])

        assert await store.head(queue, 0, 10) == []
        clock.advance_ms(LATE_KEPT_MS)
        assert await store.head(queue, 0, 10) == []
        await store.swept()
        assert await ask(home.options, f"SELECT * FROM late_arrivals WHERE queue_id = {queue.storage_id}") == []

    async def test_a_deep_scan_finds_what_marks_hide(
        self, store: CassandraStore, queue: Queue, make: Maker, clock: ManualClock, home: CassandraHome
    ) -> None:
        message = make.message()
        clock.advance_ms(HOUR_MS)
        await store.head(queue, 0, 10)
        await store.append(queue, [message])
        await ask(home.options, f"DELETE FROM late_arrivals WHERE queue_id = {queue.storage_id}")
        cold = await home.open()

        hidden = await held(cold, queue)
        found = [stored.address async for page in cold.deep_scan(queue) for stored in page]

        assert (hidden, found) == ([], [message.address])


class TestStamps(OnCassandra):
    async def test_late_inserts_and_early_deletes_end_the_same_whatever_the_clock_says(
        self, store: CassandraStore, queue: Queue, make: Maker, clock: ManualClock
    ) -> None:
        early, late = make.messages(2)
        clock.advance_ms(-HOUR_MS)
        await store.delete(queue, [early.address])
        clock.advance_ms(2 * HOUR_MS)
        await store.append(queue, [late])
        clock.advance_ms(-HOUR_MS)
        await store.delete(queue, [late.address])

        await store.append(queue, [early, late])

        assert await held(store, queue) == []

    async def test_a_message_ends_fourteen_days_after_its_address_was_made(
        self, store: CassandraStore, queue: Queue, make: Maker, clock: ManualClock, home: CassandraHome
    ) -> None:
        message = make.message()
        clock.advance_ms(24 * HOUR_MS)
        await store.append(queue, [message])

        query = f"SELECT TTL(body), WRITETIME(body) FROM messages WHERE queue_id = {queue.storage_id} AND row = 0"
        ((ttl_s, stamp),) = await ask(home.options, query)

        assert 13 * 86_400 - 60 < ttl_s <= 13 * 86_400
        assert stamp == ids.ms_of(message.address) * 1_000


class TestBatches(OnCassandra):
    async def test_sends_of_one_moment_are_one_batch(self, store: CassandraStore, queue: Queue, make: Maker) -> None:
        messages = make.messages(64)

        await asyncio.gather(*[store.append(queue, [message]) for message in messages])

        assert store.partitions.batches == 1
        assert await held(store, queue) == addresses_of(messages)

    async def test_large_messages_are_split_into_several_batches(
        self, store: CassandraStore, queue: Queue, make: Maker
    ) -> None:
        messages = [make.message("x" * 1_000_000) for _ in range(5)]

        await store.append(queue, messages)

        assert store.partitions.batches == 3
        assert await store.read(queue, addresses_of(messages)) == messages

    async def test_rows_are_written_and_read_side_by_side(
        self, store: CassandraStore, queue: Queue, make: Maker
    ) -> None:
        spread = [
            make.message(address=make.address() | row << ids.INCARNATION_BITS, body=str(row)) for row in range(100)
        ]
        await store.append(queue, spread)
        await store.delete(queue, addresses_of(spread[50:]))

        assert await store.read(queue, addresses_of(spread)) == spread[:50]
        assert sorted(await held(store, queue)) == addresses_of(spread[:50])
        assert await store.occupied(queue, range(100)) == list(range(50))
        assert [await store.head(queue, row, 5) for row in (0, 49, 50)] == [[spread[0]], [spread[49]], []]


class TestDamageAndPurge(OnCassandra):
    async def test_a_damaged_message_is_left_out_and_its_neighbours_are_not(
        self, store: CassandraStore, queue: Queue, make: Maker, home: CassandraHome
    ) -> None:
        first, damaged, last = messages = make.messages(3)
        await store.append(queue, messages)
        at, incarnation = place_of(damaged.address)
        key = f"queue_id = {queue.storage_id} AND row = 0 AND at = {at} AND incarnation = {incarnation}"
        await ask(home.options, f"UPDATE messages SET body = 0x00 WHERE {key}")

        with capture_logs() as logs:
            read = await store.read(queue, addresses_of(messages))
            head = await store.head(queue, 0, 10)

        assert read == head == [first, last]
        assert {log["event"] for log in logs} == {"damaged_message"}
        assert logs[0]["message"] == damaged.message_id

    async def test_a_purge_deletes_the_old_partitions_in_the_background(
        self, store: CassandraStore, queue: Queue, make: Maker, home: CassandraHome
    ) -> None:
        await store.append(queue, make.messages(10))
        await store.save(purged(queue))

        await store.swept()

        at = f"WHERE queue_id = {queue.storage_id}"
        assert await ask(home.options, f"SELECT at FROM messages {at} AND row = 0") == []
        assert await ask(home.options, f"SELECT since_ms FROM garbage {at}") == []

    async def test_what_a_killed_node_left_to_delete_is_deleted_by_another_start(
        self, store: CassandraStore, queue: Queue, make: Maker, clock: ManualClock, home: CassandraHome
    ) -> None:
        await store.append(queue, make.messages(10))
        await ask(home.options, f"INSERT INTO garbage (queue_id, since_ms) VALUES ({queue.storage_id}, 1)")

        another = await home.open()
        await another.swept()

        assert await held(store, queue) == []
