"""Reading rows of the Cassandra store past tombstones, on a real node: marks, and messages that arrive below them."""

from __future__ import annotations

import msgspec
import pytest

from cqs import ids
from cqs.message import Message
from cqs.queue import Queue
from cqs.store.cassandra import CassandraStore
from cqs.store.cassandra.addresses import at_of_ms
from cqs.store.cassandra.marks import LATE_KEPT_MS, RELOAD_MS, TRAIL_MS
from cqs.store.interface import Move
from cqs.testing.clock import ManualClock
from tests.contract.cassandra_home import CassandraHome, OnCassandra, ask
from tests.contract.store_home import Maker, addresses_of, held
from tests.needs import needs

pytestmark = [needs("java", "mvn"), pytest.mark.slow]

HOUR_MS = 3_600_000
TOMBSTONES = 5_000
"""More than twice the tombstone failure threshold of the test's node."""


async def fill_with_tombstones(store: CassandraStore, queue: Queue, make: Maker, clock: ManualClock) -> None:
    """Creates TOMBSTONES tombstones of messages that were sent within a few seconds."""
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

        assert await cold.occupied(queue, [0]) == [0]
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
        await store.marks.load(queue)

        assert store.marks.floor(queue, 5) == at_of_ms(clock.now_ms() - queue.settings.retention_ms - TRAIL_MS)


class TestLateArrivals(OnCassandra):
    @pytest.fixture
    async def late(self, store: CassandraStore, queue: Queue, make: Maker, clock: ManualClock) -> Message:
        """A message stored an hour after its address was made, when the mark is already past it."""
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
