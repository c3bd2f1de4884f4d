"""Messages in the console, looked at without a trace: listed, found, shown in several ways, with their lives."""

from __future__ import annotations

import pytest

from cqs.cache.entry import State
from cqs.identity import Role
from cqs.message import Attribute
from cqs.queue import Queue
from cqs.receipt import Receipt
from cqs.service.draft_rules import Draft
from cqs.service.engine import shard_of
from cqs.service.resend import discard
from cqs.service.send import send_batch
from tests.console.desk import Desk
from tests.console.hostile import PLAIN_TEXTS, let_through
from tests.console.talk import ORDERS, ids, there
from tests.engine import ACCOUNT


@pytest.fixture
async def orders(desk: Desk) -> Queue:
    queue = await desk.bench.create("orders", visibility_ms=60_000)
    await desk.get("/queues")
    return queue


async def test_looking_at_every_state_changes_nothing(desk: Desk, orders: Queue) -> None:
    """No receive is counted, nothing is hidden, the order is kept: a console is not a consumer."""
    await desk.bench.send(orders, *(f"m{number}" for number in range(8)))
    await send_batch(desk.bench.engine, orders, [Draft("later", delay_ms=60_000)], "s")
    await desk.bench.receive(orders, 3)
    before = [await desk.bench.cache.peek(shard_of(orders), state, None, 100) for state in State]

    pages = [await desk.get(f"{ORDERS}/messages?state={state.value}") for state in State]
    for page in pages:
        for message_id in ids(page):
            await desk.get(f"{ORDERS}/messages/{message_id}")
    await desk.get(f"{ORDERS}/messages?text=m&json=a.b&since=2020-01-01T00:00")
    await desk.get(ORDERS)

    after = [await desk.bench.cache.peek(shard_of(orders), state, None, 100) for state in State]
    assert [len(ids(page)) for page in pages] == [5, 1, 3]
    assert after == before
    assert await desk.bench.bodies(orders) == [f"m{number}" for number in range(3, 8)]


async def test_a_message_in_flight_says_who_holds_it_and_until_when(desk: Desk, orders: Queue) -> None:
    await desk.bench.send(orders, "one")
    delivery = (await desk.bench.receive(orders))[0]
    desk.console.lately.received(orders, [delivery.received], is_from_store=False, receiver_id="AIDAWORKER")

    page = await desk.get(f"{ORDERS}/messages?state=in_flight")

    assert "AIDAWORKER" in page.words
    assert "in 1 min" in page.words


async def test_a_receiver_that_is_a_user_is_told_by_name(desk: Desk, orders: Queue) -> None:
    user = await desk.accounts.add_user("worker", ACCOUNT, Role.OPERATOR)
    await desk.bench.send(orders, "one")
    delivery = (await desk.bench.receive(orders))[0]
    desk.console.lately.received(orders, [delivery.received], is_from_store=False, receiver_id=user.user_id)

    for path in ("", "/messages?state=in_flight", f"/messages/{delivery.message.message_id}"):
        assert "worker" in (await desk.get(ORDERS + path)).words, path


@pytest.mark.parametrize(
    ("query", "bodies"),
    [
        ("text=ALPHA", ["alpha"]),
        ("text=nothing", []),
        ("attribute=kind", ["alpha", "beta"]),
        ("attribute=kind%3Dnew", ["beta"]),
        ("group=g2", ["beta"]),
        ("json=customer.name", ['{"customer": {"name": "ada"}, "items": [{"sku": "A-7"}]}']),
        ("json=items[0].sku%3DA-7", ['{"customer": {"name": "ada"}, "items": [{"sku": "A-7"}]}']),
        ("json=items[0].sku%3DA-8", []),
        ("json=items[9]", []),
        ("since=2100-01-01T00:00", []),
        ("until=2100-01-01T00:00&text=beta", ["beta"]),
        ("text=a&group=g2", ["beta"]),
    ],
)
async def test_messages_are_found_by(desk: Desk, orders: Queue, query: str, bodies: list[str]) -> None:
    kind = Attribute("kind", "String", b"old"), Attribute("kind", "String", b"new")
    drafts = [
        Draft("alpha", (kind[0],)),
        Draft("beta", (kind[1],), group="g2"),
        Draft('{"customer": {"name": "ada"}, "items": [{"sku": "A-7"}]}'),
    ]
    await send_batch(desk.bench.engine, orders, drafts, "s")

    page = await desk.get(f"{ORDERS}/messages?{query}")

    known = {one.message.message_id: one.message.body for one in await there(desk, orders)}
    assert [known[message_id] for message_id in ids(page)] == bodies


async def test_a_message_is_found_by_its_id(desk: Desk, orders: Queue) -> None:
    await desk.bench.send(orders, "one", "two")
    wanted = (await there(desk, orders))[1].message.message_id

    assert ids(await desk.get(f"{ORDERS}/messages?id={wanted.upper()}")) == [wanted]


async def test_a_search_goes_on_from_step_to_step_until_all_was_looked_at(
    desk: Desk, orders: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("admin.views.messages.SCAN_A_TURN", 4)
    monkeypatch.setattr("admin.views.messages.STEP_S_MAX", 0.0)
    await desk.bench.send(orders, *["hay"] * 10, "needle")

    page = await desk.get(f"{ORDERS}/messages?text=needle")
    steps, found = 1, ids(page)
    while 'hx-trigger="load, again"' in page.text:
        path = page.text.partition('hx-get="')[2] if steps > 1 else page.text.partition('class="row" hx-get="')[2]
        path = path.partition('"')[0].replace("&amp;", "&").removeprefix("/ADMIN")
        page = await desk.get(path, HX_Request="true")
        steps, found = steps + 1, found + ids(page)

    assert steps == 3
    assert len(found) == 1
    assert "End of the list: 11 searched." in page.words


async def test_a_search_stops_at_its_stated_limit(desk: Desk, orders: Queue, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("admin.views.messages.SCAN_A_TURN", 2)
    monkeypatch.setattr("admin.views.messages.SCAN_LIMIT", 4)
    await desk.bench.send(orders, *["hay"] * 10)

    page = await desk.get(f"{ORDERS}/messages?text=needle")

    assert "4 messages were scanned, which is the limit" in page.words or "No matching messages" in page.words
    assert 'hx-trigger="load' not in page.text


async def test_a_long_list_is_shown_page_by_page(desk: Desk, orders: Queue) -> None:
    await desk.bench.send(orders, *(f"m{number}" for number in range(60)))

    first = await desk.get(f"{ORDERS}/messages")
    path = first.text.partition('class="button small" href="')[2].partition('"')[0].replace("&amp;", "&")
    second = await desk.get(path.removeprefix("/ADMIN"))

    assert len(ids(first)) == 50
    assert len(ids(second)) == 10
    assert not set(ids(first)) & set(ids(second))


@pytest.mark.parametrize("body", PLAIN_TEXTS)
async def test_a_hostile_body_is_shown_as_text_in_every_way(desk: Desk, orders: Queue, body: str) -> None:
    await desk.bench.send(orders, body)
    message_id = (await there(desk, orders))[0].message.message_id

    for view in ("", "text", "json", "hex", "base64"):
        page = await desk.get(f"{ORDERS}/messages/{message_id}?view={view}")
        assert page.status == 200
        assert not let_through(page.text)
    file = await desk.get(f"{ORDERS}/messages/{message_id}/body")
    assert file.raw == body.encode()
    assert file.headers["Content-Disposition"].startswith("attachment")
    assert file.headers["Content-Type"] == "application/octet-stream"
    assert "sandbox" in file.headers["Content-Security-Policy"]


async def test_a_body_of_a_megabyte_in_one_line_is_cut_and_taken_away_whole(desk: Desk, orders: Queue) -> None:
    await desk.bench.send(orders, "x" * 1_048_576)
    message_id = (await there(desk, orders))[0].message.message_id

    page = await desk.get(f"{ORDERS}/messages/{message_id}")
    file = await desk.get(f"{ORDERS}/messages/{message_id}/body")

    assert len(page.text) < 200_000
    assert "948,576 more characters are not shown" in page.words
    assert len(file.raw) == 1_048_576


async def test_json_is_shown_in_lines(desk: Desk, orders: Queue) -> None:
    await desk.bench.send(orders, '{"b":[1,2],"a":null}')
    message_id = (await there(desk, orders))[0].message.message_id

    page = await desk.get(f"{ORDERS}/messages/{message_id}")

    assert "&#34;b&#34;: [\n    1,\n    2\n  ]" in page.text


async def test_a_message_has_a_life(desk: Desk, orders: Queue) -> None:
    lately = desk.console.lately
    await desk.bench.send(orders, "one")
    message = (await there(desk, orders))[0].message
    lately.sent(orders, [message])
    delivery = (await desk.bench.receive(orders))[0]
    lately.received(orders, [delivery.received], is_from_store=False, receiver_id="AIDAWORKER")
    lately.hidden(orders, Receipt(message.address, orders.uid, 1, 1), desk.bench.clock.now_ms())

    page = await desk.get(f"{ORDERS}/messages/{message.message_id}")

    life = page.words.partition("History")[2]
    assert life.index("Sent") < life.index("Received") < life.index("Visibility changed")
    assert "by AIDAWORKER, hidden for 1 min" in life
    assert "visible at once" in life


async def test_a_message_that_is_gone_is_told(desk: Desk, orders: Queue) -> None:
    page = await desk.get(f"{ORDERS}/messages/00000000-0000-8000-8000-000000000000")

    assert page.status == 404
    assert "There is no message" in page.words


async def test_of_a_message_that_is_gone_its_life_is_still_told(desk: Desk, orders: Queue) -> None:
    await desk.bench.send(orders, "one")
    message = (await there(desk, orders))[0].message
    desk.console.lately.sent(orders, [message])
    await discard(desk.bench.engine, orders, message.address)
    desk.console.lately.deleted(orders, [message.address])

    page = await desk.get(f"{ORDERS}/messages/{message.message_id}")

    assert page.status == 404
    assert "Sent now Deleted now" in page.words


async def test_a_delayed_message_of_a_fifo_queue_is_not_offered_to_be_sent_now(desk: Desk) -> None:
    late = await desk.bench.create("late.fifo", delay_ms=60_000)
    await desk.bench.send(late, "later")
    (delayed,) = await there(desk, late, State.DELAYED)
    messages = f"/q/{ACCOUNT}/late.fifo/messages"

    pages = [await desk.get(messages + end) for end in ("?state=delayed", f"/{delayed.message.message_id}")]

    assert [("Delete" in page.words, "Send now" in page.words) for page in pages] == [(True, False)] * 2
