"""The contract of every store for leases, moves and purges. A backend's test class inherits this and defines `home`."""

from __future__ import annotations

import msgspec

from cqs.message import Message
from cqs.queue import Queue
from cqs.store.interface import Move
from tests.contract.store_home import Home, Maker, Store, addresses_of, held, lease_of, purged, scanned, stored_of


def moved(make: Maker, message: Message) -> Move:
    return Move(message.address, msgspec.structs.replace(message, address=make.address(), moved_id=message.message_id))


class LeaseContract:
    """Leases, which keep messages hidden if a cache is lost."""

    async def test_a_lease_is_told_with_its_message_after_a_crash(
        self, home: Home, store: Store, queue: Queue, make: Maker
    ) -> None:
        leased, free = make.messages(2)
        await store.append(queue, [leased, free])
        await store.lease(queue, [lease_of(leased, number=1 << 55)])

        crashed = await home.crash(store)

        assert await scanned(crashed, queue) == [stored_of(leased, lease_of(leased, number=1 << 55)), stored_of(free)]

    async def test_a_later_receive_number_replaces_an_earlier_one_only(
        self, store: Store, queue: Queue, make: Maker
    ) -> None:
        message = make.message()
        await store.append(queue, [message])

        await store.lease(queue, [lease_of(message, number=5)])
        await store.lease(queue, [lease_of(message, number=7, until_ms=20_000, count=2)])
        await store.lease(queue, [lease_of(message, number=6, until_ms=30_000, count=3)])

        assert await scanned(store, queue) == [stored_of(message, lease_of(message, 7, 20_000, 2))]

    async def test_a_lease_is_unknown_to_another_generation_of_its_queue(
        self, store: Store, queue: Queue, make: Maker
    ) -> None:
        message = make.message()
        await store.append(queue, [message])
        await store.lease(queue, [lease_of(message)])

        purged = msgspec.structs.replace(queue, generation=queue.generation + 1)

        assert await store.leases(purged, [message.address]) == [None]

    async def test_the_same_receive_may_be_hidden_again(
        self, home: Home, store: Store, queue: Queue, make: Maker
    ) -> None:
        message = make.message()
        await store.append(queue, [message])

        store.lease_soon(queue, [lease_of(message, number=5, until_ms=10_000)])
        await store.lease(queue, [lease_of(message, number=5, until_ms=0)])
        reopened = await home.reopen(store)

        assert await scanned(reopened, queue) == [stored_of(message, lease_of(message, 5, 0))]

    async def test_a_lease_nobody_waits_for_is_kept_by_an_orderly_end(
        self, home: Home, store: Store, queue: Queue, make: Maker
    ) -> None:
        messages = make.messages(3)
        await store.append(queue, messages)
        for message in messages:
            store.lease_soon(queue, [lease_of(message)])

        reopened = await home.reopen(store)

        assert await scanned(reopened, queue) == [stored_of(message, lease_of(message)) for message in messages]

    async def test_a_lease_of_a_message_that_is_gone_does_no_harm(
        self, home: Home, store: Store, queue: Queue, make: Maker
    ) -> None:
        gone, unknown, there = make.messages(3)
        await store.append(queue, [gone, there])
        store.lease_soon(queue, [lease_of(gone)])
        await store.delete(queue, [gone.address])

        await store.lease(queue, [lease_of(gone), lease_of(unknown), lease_of(there)])
        store.lease_soon(queue, [lease_of(gone, number=3)])
        reopened = await home.reopen(store)

        assert await scanned(reopened, queue) == [stored_of(there, lease_of(there))]


class MoveContract:
    """Moves to another queue, and purges."""

    async def test_a_moved_message_is_in_the_target_and_no_longer_in_the_source(
        self, home: Home, store: Store, queue: Queue, make: Maker
    ) -> None:
        target = await store.create(make.queue("dead"))
        messages = make.messages(3)
        await store.append(queue, messages)
        await store.lease(queue, [lease_of(messages[0])])
        moves = [moved(make, message) for message in messages[:2]]

        arrived = await store.move(queue, target, moves)
        crashed = await home.crash(store)

        assert arrived == [move.message for move in moves]
        assert await crashed.read(target, addresses_of(arrived)) == arrived
        assert await scanned(crashed, target) == [stored_of(message) for message in arrived]
        assert await held(crashed, queue) == [messages[2].address]

    async def test_a_message_that_was_deleted_is_not_moved(self, store: Store, queue: Queue, make: Maker) -> None:
        target = await store.create(make.queue("dead"))
        deleted, there = make.messages(2)
        await store.append(queue, [deleted, there])
        moves = [moved(make, deleted), moved(make, there)]
        await store.delete(queue, [deleted.address])

        arrived = await store.move(queue, target, moves)

        assert arrived == [moves[1].message]
        assert await held(store, target) == [moves[1].message.address]

    async def test_a_repeated_move_says_again_what_arrived(self, store: Store, queue: Queue, make: Maker) -> None:
        target = await store.create(make.queue("dead"))
        message = make.message()
        await store.append(queue, [message])
        move = moved(make, message)

        first = await store.move(queue, target, [move])
        second = await store.move(queue, target, [move])

        assert first == second == [move.message]
        assert await held(store, target) == [move.message.address]

    async def test_a_moved_and_then_deleted_message_does_not_come_back(
        self, home: Home, store: Store, queue: Queue, make: Maker
    ) -> None:
        target = await store.create(make.queue("dead"))
        message = make.message()
        await store.append(queue, [message])
        move = moved(make, message)
        await store.move(queue, target, [move])
        await store.delete(target, [move.message.address])

        arrived = await store.move(queue, target, [move])
        await store.append(queue, [message])
        reopened = await home.reopen(store)

        assert arrived == []
        assert await held(reopened, target) == await held(reopened, queue) == []

    async def test_a_purged_queues_messages_never_come_back(
        self, home: Home, store: Store, queue: Queue, make: Maker
    ) -> None:
        old, new = make.messages(2)
        await store.append(queue, [old])
        await store.lease(queue, [lease_of(old)])

        emptied = purged(queue)
        assert await store.save(emptied)
        await store.append(emptied, [new])
        now = await held(store, emptied)
        assert await store.leases(emptied, [old.address]) == [None]
        reopened = await home.reopen(store)

        assert now == [new.address]
        assert await held(reopened, emptied) == [new.address]
        assert await reopened.read(emptied, [old.address]) == []

    async def test_a_dropped_queues_messages_are_not_its_successors(
        self, home: Home, store: Store, queue: Queue, make: Maker
    ) -> None:
        message = make.message()
        await store.append(queue, [message])
        await store.drop(queue, 1)

        successor = await store.create(make.queue())
        reopened = await home.reopen(store)

        assert await held(reopened, successor) == []
        assert await reopened.read(successor, [message.address]) == []
