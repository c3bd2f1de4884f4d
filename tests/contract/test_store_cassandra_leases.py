"""Leases of the Cassandra store on a real node: live leases, and receive counts that outlive them."""

from __future__ import annotations

import pytest

from cqs.queue import Queue
from cqs.store.cassandra import CassandraStore
from cqs.store.cassandra.lease_keeper import GRACE_MS
from cqs.store.cassandra.leases import LEASE_KEPT_MS, MINUTE_MS, PRUNE_EVERY
from cqs.store.interface import Lease
from cqs.testing.clock import ManualClock
from tests.contract.cassandra_home import CassandraHome, OnCassandra, ask
from tests.contract.store_home import Maker, lease_of, scanned, stored_of
from tests.needs import needs

pytestmark = [needs("java", "mvn"), pytest.mark.slow]

VISIBILITY_MS = 30_000
OVER_MS = VISIBILITY_MS + MINUTE_MS + GRACE_MS
"""After this time, the minute in which a lease expired has ended."""


async def receives_of(home: CassandraHome, queue: Queue) -> list[int]:
    """Returns the receive numbers that are stored for as long as their messages exist."""
    rows = await ask(home.options, f"SELECT number FROM receives WHERE queue_id = {queue.storage_id} AND row = 0")
    return [row[0] for row in rows]


class TestLivingLeases(OnCassandra):
    async def test_another_node_sees_a_living_lease(
        self, store: CassandraStore, queue: Queue, make: Maker, clock: ManualClock, home: CassandraHome
    ) -> None:
        message = make.message()
        await store.append(queue, [message])
        lease = lease_of(message, until_ms=clock.now_ms() + VISIBILITY_MS)
        other = await home.open()

        await store.lease(queue, [lease])

        assert await scanned(other, queue) == [stored_of(message, lease)]
        assert await other.leases(queue, [message.address, make.address()]) == [lease, None]

    async def test_the_newest_receive_counts_however_far_its_end_lies(
        self, store: CassandraStore, queue: Queue, make: Maker, clock: ManualClock, home: CassandraHome
    ) -> None:
        message = make.message()
        await store.append(queue, [message])
        far = lease_of(message, number=5, until_ms=clock.now_ms() + 12 * 3_600_000)
        near = lease_of(message, number=6, until_ms=clock.now_ms() + VISIBILITY_MS, count=2)
        other = await home.open()

        await other.lease(queue, [near])
        await store.lease(queue, [far])

        assert await scanned(other, queue) == [stored_of(message, near)]

    async def test_a_receive_that_was_shortened_by_another_node_is_over(
        self, store: CassandraStore, queue: Queue, make: Maker, clock: ManualClock, home: CassandraHome
    ) -> None:
        message = make.message()
        await store.append(queue, [message])
        other = await home.open()
        shortened = lease_of(message, until_ms=0)

        await store.lease(queue, [lease_of(message, until_ms=clock.now_ms() + 3_600_000)])
        clock.advance_ms(1)
        await other.lease(queue, [shortened])

        for node in (store, other):
            assert await node.leases(queue, [message.address]) == [shortened]
            assert await scanned(node, queue) == [stored_of(message, shortened)]

    async def test_a_lease_of_a_deleted_message_is_not_told(
        self, store: CassandraStore, queue: Queue, make: Maker, clock: ManualClock
    ) -> None:
        message = make.message()
        await store.append(queue, [message])
        await store.lease(queue, [lease_of(message, until_ms=clock.now_ms() + VISIBILITY_MS)])

        await store.delete(queue, [message.address])

        assert await store.leases(queue, [message.address]) == [None]


class TestReceiveCounts(OnCassandra):
    async def test_an_expired_receive_is_kept_as_long_as_its_message(
        self, store: CassandraStore, queue: Queue, make: Maker, clock: ManualClock, home: CassandraHome
    ) -> None:
        message = make.message()
        await store.append(queue, [message])
        lease = lease_of(message, until_ms=clock.now_ms() + VISIBILITY_MS)
        await store.lease(queue, [lease])

        clock.advance_ms(OVER_MS)
        await store.keeper.settle()
        clock.advance_ms(LEASE_KEPT_MS)

        assert await receives_of(home, queue) == [lease.receive_number]
        assert await scanned(await home.open(), queue) == [stored_of(message, lease)]

    async def test_a_message_that_was_deleted_in_time_leaves_nothing(
        self, store: CassandraStore, queue: Queue, make: Maker, clock: ManualClock, home: CassandraHome
    ) -> None:
        here, there = messages = make.messages(2)
        await store.append(queue, messages)
        await store.lease(queue, [lease_of(one, until_ms=clock.now_ms() + VISIBILITY_MS) for one in messages])
        await store.delete(queue, [here.address])
        held_after_delete = len(store.keeper)
        await (await home.open()).delete(queue, [there.address])

        clock.advance_ms(OVER_MS)
        await store.keeper.settle()

        assert (held_after_delete, len(store.keeper)) == (1, 0)
        assert await receives_of(home, queue) == []

    async def test_an_orderly_end_writes_living_receives_down(
        self, store: CassandraStore, queue: Queue, make: Maker, clock: ManualClock, home: CassandraHome
    ) -> None:
        message = make.message()
        await store.append(queue, [message])
        lease = lease_of(message, until_ms=clock.now_ms() + VISIBILITY_MS)
        store.lease_soon(queue, [lease])

        reopened = await home.reopen(store)
        clock.advance_ms(OVER_MS + LEASE_KEPT_MS)

        assert await scanned(reopened, queue) == [stored_of(message, lease)]

    async def test_a_message_that_is_received_again_and_again_does_not_pile_up_rows(
        self, store: CassandraStore, queue: Queue, make: Maker, home: CassandraHome
    ) -> None:
        message = make.message()
        await store.append(queue, [message])

        for count in range(1, 3 * PRUNE_EVERY + 2):
            await store.lease(queue, [Lease(message.address, 0, count, 5_000, count)])

        assert await receives_of(home, queue) == [3 * PRUNE_EVERY, 3 * PRUNE_EVERY + 1]
        ((last),) = await store.leases(queue, [message.address])
        assert last is not None
        assert last.receive_count == 3 * PRUNE_EVERY + 1


class TestChangesThroughOtherNodes(OnCassandra):
    @pytest.mark.parametrize("is_end", [False, True], ids=["ran out here", "this node ends"])
    async def test_a_receive_that_another_node_extended_is_not_over_when_its_own_node_writes_it_down(
        self, store: CassandraStore, queue: Queue, make: Maker, clock: ManualClock, home: CassandraHome, is_end: bool
    ) -> None:
        message = make.message()
        await store.append(queue, [message])
        other = await home.open()
        received = lease_of(message, until_ms=clock.now_ms() + VISIBILITY_MS)
        extended = lease_of(message, until_ms=clock.now_ms() + 600_000)

        await store.lease(queue, [received])
        clock.advance_ms(1)
        await other.lease(queue, [extended])
        clock.advance_ms(1 if is_end else OVER_MS)
        await store.keeper.settle(is_end=is_end)

        assert await other.leases(queue, [message.address]) == [extended]
        assert await scanned(other, queue) == [stored_of(message, extended)]

    async def test_a_receive_that_is_written_late_leaves_the_change_that_came_after_it(
        self, store: CassandraStore, queue: Queue, make: Maker, clock: ManualClock, home: CassandraHome
    ) -> None:
        message = make.message()
        await store.append(queue, [message])
        other = await home.open()
        given_up = lease_of(message, until_ms=0)

        store.lease_soon(queue, [lease_of(message, until_ms=clock.now_ms() + VISIBILITY_MS)])
        clock.advance_ms(1)
        await other.lease(queue, [given_up])
        await store._soon.close()

        assert await other.leases(queue, [message.address]) == [given_up]
