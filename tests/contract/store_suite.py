"""The contract of every store for messages and leases. A backend's test class inherits this and defines `home`."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from cqs.errors import StoreUnavailable
from cqs.message import Attribute
from cqs.queue import Queue
from cqs.testing.clock import ManualClock
from tests.contract.store_home import Home, Maker, Store, addresses_of, held, lease_of, scanned, stored_of

TEXTS = ["", "x", "a\tb\nc\rd", "é", "日本語", "\U0001f980" * 3, "\ufffd", '{"a": "b"}', "x" * 20_000]


class StoreContract:
    """Messages: append, read, delete, move, head, scan, lease, and what survives a restart and a crash."""

    @pytest.fixture
    def clock(self) -> ManualClock:
        return ManualClock()

    @pytest.fixture
    def make(self, clock: ManualClock) -> Maker:
        return Maker(clock)

    @pytest.fixture
    async def store(self, home: Home) -> AsyncIterator[Store]:
        yield await home.open()
        await home.close()

    @pytest.fixture
    async def queue(self, store: Store, make: Maker) -> Queue:
        return await store.create(make.queue())

    async def test_an_appended_message_is_read_as_it_was(self, store: Store, queue: Queue, make: Maker) -> None:
        message = make.message(
            "hello",
            sent_ms=1,
            visible_ms=2,
            sender_id="AIDA",
            attributes=(Attribute("n", "Number", b"1"), Attribute("b", "Binary.x", b"\x00\xff")),
            trace_header="Root=1",
            group="g",
            dedup_id="d",
            sequence=1 << 62,
            moved_id="0-1",
            source_arn="arn:aws:sqs:us-east-1:0:a",
            earlier_receives=3,
            earlier_first_ms=4,
        )

        await store.append(queue, [message])

        assert await store.read(queue, [message.address]) == [message]

    @pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
    async def test_any_text_is_kept(self, store: Store, queue: Queue, make: Maker, text: str) -> None:
        message = make.message(text)
        await store.append(queue, [message])

        assert (await store.read(queue, [message.address]))[0].body == text

    async def test_messages_are_read_in_the_order_asked_for(self, store: Store, queue: Queue, make: Maker) -> None:
        first, second, third = make.messages(3)
        await store.append(queue, [first, second, third])

        assert await store.read(queue, addresses_of([third, first, second])) == [third, first, second]

    async def test_what_does_not_exist_is_left_out_of_a_read(self, store: Store, queue: Queue, make: Maker) -> None:
        message = make.message()
        await store.append(queue, [message])

        assert await store.read(queue, [make.address(), message.address]) == [message]
        assert await store.read(queue, []) == []

    async def test_a_message_is_not_read_through_another_queue(self, store: Store, queue: Queue, make: Maker) -> None:
        message = make.message()
        await store.append(queue, [message])

        assert await store.read(await store.create(make.queue("other")), [message.address]) == []

    @pytest.mark.parametrize("count", [1, 2, 3, 10, 63, 64, 65, 130, 300])
    async def test_any_number_of_messages_is_appended_and_deleted_at_once(
        self, store: Store, queue: Queue, make: Maker, count: int
    ) -> None:
        messages = make.messages(count)

        await store.append(queue, messages)
        there = await store.read(queue, addresses_of(messages))
        await store.delete(queue, addresses_of(messages[1:]))

        assert there == messages
        assert await held(store, queue) == [messages[0].address]

    async def test_appending_again_changes_nothing(self, store: Store, queue: Queue, make: Maker) -> None:
        messages = make.messages(3)
        await store.append(queue, messages[:2])

        await store.append(queue, messages)

        assert await store.read(queue, addresses_of(messages)) == messages
        assert await held(store, queue) == addresses_of(messages)

    async def test_a_deleted_message_is_gone(self, store: Store, queue: Queue, make: Maker) -> None:
        messages = make.messages(3)
        await store.append(queue, messages)

        await store.delete(queue, [messages[1].address])

        assert await store.read(queue, addresses_of(messages)) == [messages[0], messages[2]]

    async def test_deleting_again_or_what_never_was_is_fine(self, store: Store, queue: Queue, make: Maker) -> None:
        message = make.message()
        await store.append(queue, [message])

        for _ in range(2):
            await store.delete(queue, [message.address, make.address()])

        assert await held(store, queue) == []

    async def test_a_delete_wins_over_a_later_append_of_the_same_address(
        self, store: Store, queue: Queue, make: Maker
    ) -> None:
        early, late = make.messages(2)
        await store.delete(queue, [early.address])
        await store.append(queue, [late])
        await store.delete(queue, [late.address])

        await store.append(queue, [early, late])

        assert await held(store, queue) == []

    async def test_appended_and_deleted_messages_stay_so_after_a_restart(
        self, home: Home, store: Store, queue: Queue, make: Maker
    ) -> None:
        messages = make.messages(5)
        await store.append(queue, messages)
        await store.delete(queue, addresses_of(messages[:2]))

        reopened = await home.reopen(store)

        assert await reopened.read(queue, addresses_of(messages)) == messages[2:]
        assert await held(reopened, queue) == addresses_of(messages[2:])

    async def test_appended_and_deleted_messages_stay_so_after_a_crash(
        self, home: Home, store: Store, queue: Queue, make: Maker
    ) -> None:
        messages = make.messages(5)
        await store.append(queue, messages)
        await store.delete(queue, addresses_of(messages[:2]))

        crashed = await home.crash(store)

        assert await crashed.read(queue, addresses_of(messages)) == messages[2:]
        assert await held(crashed, queue) == addresses_of(messages[2:])

    async def test_a_scan_tells_all_but_the_bodies_in_address_order(
        self, store: Store, queue: Queue, make: Maker
    ) -> None:
        messages = [make.message(group=f"g{n % 3}", sequence=n, visible_ms=n * 7, sent_ms=n) for n in range(7)]
        for message in reversed(messages):
            await store.append(queue, [message])

        assert await scanned(store, queue) == [stored_of(message) for message in messages]

    async def test_a_scan_after_a_restart_finds_what_was_written_since(
        self, home: Home, store: Store, queue: Queue, make: Maker
    ) -> None:
        old, deleted, leased, new = make.messages(4)
        await store.append(queue, [old, deleted, leased])
        reopened = await home.reopen(store)

        await reopened.append(queue, [new])
        await reopened.delete(queue, [deleted.address])
        await reopened.lease(queue, [lease_of(leased)])

        assert await scanned(reopened, queue) == [stored_of(old), stored_of(leased, lease_of(leased)), stored_of(new)]

    async def test_a_scan_of_many_messages_comes_in_pages_and_can_be_repeated(
        self, home: Home, store: Store, queue: Queue, make: Maker
    ) -> None:
        messages = make.messages(2_500)
        await store.append(queue, messages)
        reopened = await home.reopen(store)

        pages = [page async for page in reopened.scan(queue)]

        assert max(map(len, pages)) < 2_500
        assert [stored.address for page in pages for stored in page] == addresses_of(messages)
        assert await held(reopened, queue) == addresses_of(messages)

    async def test_head_gives_the_oldest_messages(self, store: Store, queue: Queue, make: Maker) -> None:
        messages = make.messages(5)
        await store.append(queue, messages[2:])
        await store.append(queue, messages[:2])

        assert await store.head(queue, 0, 3) == messages[:3]
        assert await store.head(queue, 0, 100) == messages

    async def test_every_message_is_in_exactly_one_row(self, store: Store, queue: Queue, make: Maker) -> None:
        messages = make.messages(5)
        await store.append(queue, messages)

        found = [message for row in range(store.rows) for message in await store.head(queue, row, 100)]

        assert sorted(addresses_of(found)) == addresses_of(messages)

    async def test_a_look_at_all_rows_names_those_with_messages(self, store: Store, queue: Queue, make: Maker) -> None:
        message = make.message()
        await store.append(queue, [message])

        occupied = await store.occupied(queue, range(store.rows))

        assert [await store.head(queue, row, 1) for row in occupied] == [[message]]
        assert await store.occupied(queue, []) == []

    async def test_new_addresses_are_above_the_highest_one(
        self, home: Home, store: Store, queue: Queue, make: Maker
    ) -> None:
        empty = await store.highest_address()
        messages = make.messages(3)
        await store.append(queue, messages)

        reopened = await home.reopen(store)

        assert empty == 0
        assert await reopened.highest_address() >= messages[-1].address

    async def test_a_closed_store_refuses_and_closing_again_is_fine(
        self, store: Store, queue: Queue, make: Maker
    ) -> None:
        message = make.message()
        await store.close()
        await store.close()

        for call in (
            store.append(queue, [message]),
            store.delete(queue, [1]),
            store.read(queue, [1]),
            store.lease(queue, [lease_of(message)]),
            store.claim(queue, [make.wanted("d")], 1),
            store.queues(),
        ):
            with pytest.raises(StoreUnavailable):
                await call
        store.lease_soon(queue, [lease_of(message)])
