"""Rows of the Cassandra store on a real node: write timestamps, batches, damage, purges."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import pytest
from cassandra.cluster import ResponseFuture
from structlog.testing import capture_logs

from cqs import ids
from cqs.errors import OutcomeUnknown, StoreUnavailable
from cqs.message import Attribute
from cqs.queue import Queue
from cqs.store.cassandra import CassandraStore
from cqs.store.cassandra import statements as cql
from cqs.store.cassandra.addresses import place_of
from cqs.store.cassandra.coordination import CassandraCoordination
from cqs.store.cassandra.session import Write
from cqs.store.cassandra.sweeping import LATE_MS
from cqs.store.interface import Wanted
from cqs.testing.clock import ManualClock
from tests.collector import collector_off, lives
from tests.contract.cassandra_home import CassandraHome, OnCassandra, ask
from tests.contract.store_home import Maker, addresses_of, held, purged
from tests.needs import needs

pytestmark = [needs("java", "mvn"), pytest.mark.slow]

HOUR_MS = 3_600_000


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


class TestRequests(OnCassandra):
    async def test_they_leave_nothing_to_the_garbage_collector(
        self, store: CassandraStore, queue: Queue, make: Maker
    ) -> None:
        """Otherwise the collector would run all the time, and objects it has frozen meanwhile would stay
        (`cqs.heap`)."""
        messages = make.messages(64)
        await store.append(queue, messages[:1])

        with collector_off():
            for message in messages:
                await store.append(queue, [message])
            assert len(await held(store, queue)) == len(messages)
            await store.delete(queue, [message.address for message in messages])

            assert not lives(ResponseFuture)

    async def test_failed_requests_leave_nothing_to_the_garbage_collector_either(self, store: CassandraStore) -> None:
        too_long = Write(cql.INSERT_LEASE_MINUTE, (1, 1, 1 << 30))
        with collector_off():
            with suppress(OutcomeUnknown, StoreUnavailable):
                await store.session.write([too_long])
                pytest.fail("a life of 34 years was taken")

            assert not lives(ResponseFuture)


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

    async def test_large_attributes_of_many_senders_are_split_into_several_batches(
        self, store: CassandraStore, queue: Queue, make: Maker
    ) -> None:
        """Cassandra refuses a batch of 16 MiB, and with it the messages of all senders."""
        large = (Attribute("a", "Binary", bytes(1_000_000)),)
        messages = [make.message(attributes=large) for _ in range(20)]

        await asyncio.gather(*[store.append(queue, [message]) for message in messages])

        assert store.partitions.batches == 10
        assert await held(store, queue) == addresses_of(messages)

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

    async def test_what_is_sent_to_a_purged_generation_that_came_back_is_kept(
        self, store: CassandraStore, queue: Queue, make: Maker, clock: ManualClock
    ) -> None:
        await store.append(queue, make.messages(1))
        await store.save(purged(queue))
        await store.swept()
        clock.advance_ms(LATE_MS + 1)
        (message,) = make.messages(1)

        await store.append(queue, [message])

        assert await held(store, queue) == [message.address]

    @pytest.mark.parametrize("is_killed", [False, True])
    async def test_a_deleted_queue_leaves_neither_its_sequence_nor_its_home(
        self, store: CassandraStore, make: Maker, clock: ManualClock, home: CassandraHome, is_killed: bool
    ) -> None:
        queue, other = [await store.create(make.fifo(f"{name}.fifo")) for name in ("gone", "other")]
        coordination = CassandraCoordination(store.session, clock)
        for one in (queue, other):
            await store.claim(one, [Wanted("", "", make.message().address)], 0)
            await coordination.take_home(one.uid, 0, None)
        if is_killed:
            key = f"account = '{queue.account}' AND name = '{queue.name}'"
            await ask(home.options, f"DELETE FROM queues WHERE {key} IF EXISTS")
            await ask(home.options, f"INSERT INTO garbage (queue_id, since_ms) VALUES ({queue.storage_id}, 1)")
            await ask(home.options, f"INSERT INTO garbage (queue_id, since_ms) VALUES ({other.storage_id - 1}, 1)")
            store = await home.open()
        else:
            await store.drop(queue, clock.now_ms())
            await store.save(purged(other))
        await store.swept()

        for table in ("claims", "homes"):
            assert await ask(home.options, f"SELECT * FROM {table} WHERE queue_uid = {queue.uid}") == []
            assert await ask(home.options, f"SELECT * FROM {table} WHERE queue_uid = {other.uid}") != []

    async def test_what_a_killed_node_left_to_delete_is_deleted_by_another_start(
        self, store: CassandraStore, queue: Queue, make: Maker, clock: ManualClock, home: CassandraHome
    ) -> None:
        await store.append(queue, make.messages(10))
        await ask(home.options, f"DELETE FROM queues WHERE account = '{queue.account}' AND name = '{queue.name}'")
        await ask(home.options, f"INSERT INTO garbage (queue_id, since_ms) VALUES ({queue.storage_id}, 1)")

        another = await home.open()
        await another.swept()

        assert await held(store, queue) == []
