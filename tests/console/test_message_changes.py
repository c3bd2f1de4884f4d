"""Changing messages in the console: send, edit, copy, delete, make visible, hide for longer."""

from __future__ import annotations

import pytest

from cqs.cache.entry import State
from cqs.errors import StoreUnavailable
from cqs.message import Attribute
from cqs.queue import Queue
from cqs.service.draft_rules import Draft
from cqs.service.send import send_batch
from tests.console.desk import Desk, Seen
from tests.console.talk import ORDERS, there
from tests.engine import ACCOUNT


@pytest.fixture
async def orders(desk: Desk) -> Queue:
    queue = await desk.bench.create("orders", visibility_ms=60_000)
    await desk.get("/queues")
    return queue


async def test_a_message_is_sent_with_all_it_can_carry(desk: Desk, orders: Queue) -> None:
    page = await desk.post(
        f"{ORDERS}/send",
        {
            "body": "hello\r\nworld",
            "attribute_name": ["n", "", "b"],
            "attribute_type": ["Number.int", "String", "Binary"],
            "attribute_value": ["42", "", "AP8="],
            "delay": "10 s",
            "group": "tenant",
            "trace_header": "Root=1",
        },
    )

    message = (await there(desk, orders, State.DELAYED))[0].message
    assert page.path == f"/ADMIN{ORDERS}/messages/{message.message_id}"
    assert message.body == "hello\nworld"
    assert message.attributes == (Attribute("n", "Number.int", b"42"), Attribute("b", "Binary", b"\x00\xff"))
    assert message.visible_ms == desk.bench.clock.now_ms() + 10_000
    assert (message.group, message.trace_header) == ("tenant", "Root=1")


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"body": ""}, "The request must contain the parameter MessageBody"),
        ({"body": "a\x00b"}, "Invalid characters found"),
        ({"body": "x" * 2_000}, "Message must be shorter than 1024 bytes"),
        ({"body": "x", "delay": "16 m"}, "Delay: 0 s to 15 m"),
        ({"body": "x", "attribute_name": "AWS.x"}, "is reserved"),
        ({"body": "x", "attribute_name": "n", "attribute_type": "Number", "attribute_value": "x"}, "to a number"),
        ({"body": "x", "attribute_name": "n", "attribute_type": "Binary", "attribute_value": "?"}, "must be base64"),
        ({"body": "x", "group": "a b"}, "MessageGroupId"),
        ({"lines": 'ok\n{"body": ""}'}, "Line 2: The request must contain the parameter MessageBody"),
        ({"lines": '{"body": "x", "delay": 901}'}, "Line 1: delay: 0 to 900"),
        ({"lines": "\n\n"}, "MessageBody"),
        ({"lines": "x\n" * 1_001}, "1 to 1,000 lines"),
    ],
)
async def test_what_the_api_would_refuse_is_refused_with_its_words(
    desk: Desk, fields: dict[str, str], told: str
) -> None:
    queue = await desk.bench.create("orders", message_size_max=1_024)
    defaults = {"attribute_name": "", "attribute_type": "String", "attribute_value": "v"}
    await desk.get("/queues")

    page = await desk.post(f"{ORDERS}/send", defaults | fields)

    assert page.status == 422
    assert told in page.words
    assert await there(desk, queue) == []


async def test_many_messages_are_sent_as_lines(desk: Desk) -> None:
    queue = await desk.bench.create("line.fifo")
    lines = [f'{{"body": "m{n}", "group": "g{n % 2}", "dedup_id": "{n}"}}' for n in range(25)]
    await desk.get("/queues")

    page = await desk.post(f"/q/{ACCOUNT}/line.fifo/send", {"lines": "\n".join(lines)})

    assert "25 messages sent." in page.words
    assert sorted(one.message.body for one in await there(desk, queue)) == sorted(f"m{n}" for n in range(25))


async def test_a_message_is_edited_and_sent_again_in_place_of_the_old_one(desk: Desk, orders: Queue) -> None:
    await desk.bench.send(orders, "brokne")
    old = (await there(desk, orders))[0].message.message_id
    form = await desk.get(f"{ORDERS}/messages/{old}/edit")

    page = await desk.post(
        f"{ORDERS}/messages/{old}/edit", {"body": "mended", "target": "orders", "is_original_deleted": "1"}
    )

    assert "brokne</textarea>" in form.text.replace("\n", "")
    assert "The original was deleted." in page.words
    assert [one.message.body for one in await there(desk, orders)] == ["mended"]
    assert len(await desk.bench.stored(orders)) == 1


async def test_a_message_is_copied_to_another_queue(desk: Desk, orders: Queue) -> None:
    other = await desk.bench.create("other")
    await desk.bench.send(orders, "one")
    message_id = (await there(desk, orders))[0].message.message_id

    page = await desk.post(f"{ORDERS}/messages/{message_id}/edit", {"body": "one", "target": "other"})

    assert "The original remains." in page.words
    assert len(await there(desk, orders)) == len(await there(desk, other)) == 1


async def test_an_edit_of_what_is_gone_keeps_what_was_typed(desk: Desk, orders: Queue) -> None:
    await desk.bench.send(orders, "one")
    message_id = (await there(desk, orders))[0].message.message_id
    desk.bench.store.fail("append", StoreUnavailable("disk full"))

    page = await desk.post(f"{ORDERS}/messages/{message_id}/edit", {"body": "typed with care", "target": "orders"})

    assert page.status == 422
    assert "disk full" in page.words
    assert "typed with care" in page.text
    assert [one.message.body for one in await there(desk, orders)] == ["one"]


async def test_what_was_typed_for_a_message_that_is_gone_can_be_sent_where_it_was_to_go(
    desk: Desk, orders: Queue
) -> None:
    other = await desk.bench.create("other")
    await desk.bench.send(orders, "one")
    message_id = (await there(desk, orders))[0].message.message_id
    await chosen(desk, "delete", message_id)

    page = await desk.post(f"{ORDERS}/messages/{message_id}/edit", {"body": "typed with care", "target": "other"})
    form = page.text.partition('data-templates="')[2].partition('action="/ADMIN')[2].partition('"')[0]
    await desk.post(form, {"body": "typed with care"})

    assert page.status == 422
    assert "typed with care" in page.text
    assert [one.message.body for one in await there(desk, other)] == ["typed with care"]


async def test_a_copy_whose_original_could_not_go_is_told_as_sent(desk: Desk, orders: Queue) -> None:
    await desk.bench.send(orders, "one")
    message_id = (await there(desk, orders))[0].message.message_id
    desk.bench.store.fail("delete", StoreUnavailable("disk full"))

    page = await desk.post(
        f"{ORDERS}/messages/{message_id}/edit", {"body": "new", "target": "orders", "is_original_deleted": "1"}
    )

    assert "It was sent to orders as " in page.words
    assert "but the original is still there: disk full" in page.words
    assert sorted(one.message.body for one in await there(desk, orders)) == ["new", "one"]


async def test_a_deletion_that_stops_half_way_says_how_far_it_came(desk: Desk, orders: Queue) -> None:
    await desk.bench.send(orders, "one", "two", "three")
    everything = [one.message.message_id for one in await there(desk, orders)]
    desk.bench.store.fail("delete", StoreUnavailable("disk full"), after=2)

    page = await chosen(desk, "delete", *everything)

    assert "Of 3 messages, 2 had been changed before this: disk full" in page.words
    assert len(await there(desk, orders)) == 1


async def chosen(desk: Desk, verb: str, *message_ids: str, **more: str) -> Seen:
    return await desk.post(f"{ORDERS}/messages/chosen", {"do": verb, "chosen": list(message_ids), **more})


async def test_chosen_messages_are_deleted_in_any_state(desk: Desk, orders: Queue) -> None:
    await desk.bench.send(orders, "one", "two", "three")
    held = (await desk.bench.receive(orders, 1))[0].message.message_id
    ready = (await there(desk, orders))[0].message.message_id

    page = await chosen(desk, "delete", held, ready, "gone")

    assert "2 messages deleted. 1 was already gone or in another state." in page.words
    assert len(await desk.bench.stored(orders)) == 1


async def test_a_message_in_flight_is_made_visible_now(desk: Desk, orders: Queue) -> None:
    await desk.bench.send(orders, "one")
    held = (await desk.bench.receive(orders))[0].message.message_id

    page = await chosen(desk, "reveal", held)

    assert "1 message made visible." in page.words
    assert await desk.bench.bodies(orders) == ["one"]


async def test_a_message_in_flight_is_hidden_for_longer(desk: Desk, orders: Queue) -> None:
    await desk.bench.send(orders, "one")
    held = (await desk.bench.receive(orders))[0].message.message_id

    await chosen(desk, "hide", held, **{"for": "10 m"})

    found = (await there(desk, orders, State.IN_FLIGHT))[0]
    assert found.visible_ms == desk.bench.clock.now_ms() + 600_000


async def test_a_delayed_message_is_sent_now(desk: Desk, orders: Queue) -> None:
    await send_batch(desk.bench.engine, orders, [Draft("later", delay_ms=60_000)], "s")
    delayed = (await there(desk, orders, State.DELAYED))[0].message.message_id

    await chosen(desk, "hasten", delayed)

    assert await desk.bench.bodies(orders) == ["later"]
    assert len(await desk.bench.stored(orders)) == 1


async def test_a_ready_message_is_neither_made_visible_nor_sent_now(desk: Desk, orders: Queue) -> None:
    await desk.bench.send(orders, "one")
    ready = (await there(desk, orders))[0].message.message_id

    assert "0 messages made visible. 1 was already gone" in (await chosen(desk, "reveal", ready)).words
    assert "0 messages sent now. 1 was already gone" in (await chosen(desk, "hasten", ready)).words
    assert len(await there(desk, orders)) == 1


async def test_a_copy_wants_a_queue_and_leaves_the_original(desk: Desk, orders: Queue) -> None:
    await desk.bench.send(orders, "one")
    message_id = (await there(desk, orders))[0].message.message_id

    form = await desk.get(f"{ORDERS}/messages/{message_id}/edit?copy=1")

    assert 'name="target" type="text" value=""' in form.text
    assert 'name="is_original_deleted" value="1">' in form.text


@pytest.mark.parametrize("query", ["", "?to=mails"])
async def test_an_edited_message_takes_the_place_of_the_original_wherever_it_goes(
    desk: Desk, orders: Queue, query: str
) -> None:
    await desk.bench.send(orders, "one")
    message_id = (await there(desk, orders))[0].message.message_id

    form = await desk.get(f"{ORDERS}/messages/{message_id}/edit{query}")

    assert 'name="is_original_deleted" value="1" checked>' in form.text
