"""Irreversible changes are delayed for a moment, and can be cancelled until then."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from admin.grace import FAILED_SHOWN_MS, GRACE_MS, REGRET_MS, Grace
from cqs.identity import Role
from cqs.queue import QueueName
from cqs.service import queues
from tests.console.desk import Desk, make_desk
from tests.console.talk import there
from tests.engine import ACCOUNT, make_bench, until

ORDERS = QueueName(ACCOUNT, "orders")


@pytest.fixture
def over() -> asyncio.Event:
    """An event; when it is set, the time to undo is over."""
    return asyncio.Event()


@pytest.fixture
async def patient(over: asyncio.Event) -> AsyncIterator[Desk]:
    """A console with a grace period, and the queue `orders` with two messages."""
    bench = await make_bench()

    async def pause(wait_s: float) -> None:
        assert wait_s in (GRACE_MS / 1_000, REGRET_MS / 1_000)
        await over.wait()

    desk = await make_desk(bench=bench, grace=Grace(bench.clock, pause=pause))
    await bench.send(await bench.create("orders"), "one", "two")
    yield desk
    await desk.client.close()


async def ready(desk: Desk) -> int:
    queue = desk.bench.engine.registry.of_arn(f"arn:aws:sqs:us-east-1:{ACCOUNT}:orders")
    assert queue is not None
    return (await desk.bench.counts(queue)).ready


async def done(desk: Desk) -> None:
    await until(lambda: not desk.console.grace.of(ACCOUNT))


async def purge(desk: Desk) -> str:
    return (await desk.post("/queues/purge", chosen="orders", typed="orders")).words


async def test_a_purge_is_done_when_the_time_is_over(patient: Desk, over: asyncio.Event) -> None:
    words = await purge(patient)

    assert "orders will be purged in 10 seconds." in words
    assert "Undo" in words
    assert await ready(patient) == 2
    over.set()
    await until(lambda: patient.bench.engine.registry.page(ACCOUNT, "", "", 1)[0].generation == 1)
    assert await ready(patient) == 0
    assert "Undo" not in (await patient.get("/")).words


async def test_a_purge_that_was_called_off_is_never_done(patient: Desk, over: asyncio.Event) -> None:
    await purge(patient)

    words = (await patient.post("/undo/1")).words
    over.set()
    await done(patient)

    assert "Cancelled: nothing was done." in words
    assert await ready(patient) == 2
    assert "Too late" in (await patient.post("/undo/1")).words


@pytest.mark.parametrize("what", ["purge", "delete"])
async def test_what_waits_is_not_done_to_a_namesake_made_meanwhile(
    patient: Desk, over: asyncio.Event, what: str
) -> None:
    await patient.post(f"/queues/{what}", chosen="orders", typed="orders")
    engine = patient.bench.engine
    await queues.delete(engine, engine.registry.find(ORDERS))
    await patient.bench.send(await patient.bench.create("orders"), "another")

    over.set()
    await until(lambda: any(one.problem for one in patient.console.grace.of(ACCOUNT)))

    assert await ready(patient) == 1


@pytest.mark.parametrize("role", [None, Role.READ_ONLY])
@pytest.mark.parametrize("what", ["purge", "delete", "messages"])
async def test_what_waits_is_not_done_for_a_user_who_may_not_any_more(
    patient: Desk, over: asyncio.Event, what: str, role: Role | None
) -> None:
    await patient.add_user("root", Role.ADMINISTRATOR)
    await patient.add_user("bob", Role.OPERATOR)
    await patient.log_in("bob")
    if what == "messages":
        letters = await there(patient, patient.bench.engine.registry.find(ORDERS))
        await patient.post(f"/q/{ACCOUNT}/orders/messages/chosen", do="delete", chosen=letters[0].message.message_id)
    else:
        await patient.post(f"/queues/{what}", chosen="orders", typed="orders")
    if role is None:
        await patient.accounts.set_user_enabled("bob", False)
    else:
        await patient.accounts.set_role("bob", role)

    over.set()
    await until(lambda: any(one.problem for one in patient.console.grace.of(ACCOUNT)))

    assert await ready(patient) == 2


@pytest.mark.parametrize(("way_out", "left"), [("/log-out-everywhere", 2), ("/log-out", 0)])
async def test_what_waits_ends_with_all_sessions_of_its_user_but_not_with_one(
    patient: Desk, over: asyncio.Event, way_out: str, left: int
) -> None:
    await patient.add_user("root", Role.ADMINISTRATOR)
    await patient.log_in("root")
    await purge(patient)
    await patient.post(way_out)

    over.set()
    await until(lambda: patient.console.grace.get(1) is None or patient.console.grace.of(ACCOUNT)[0].problem != "")
    await patient.console.grace.end()

    assert await ready(patient) == left


async def test_what_waits_is_shown_in_the_account_of_its_queue(patient: Desk) -> None:
    await queues.create(patient.bench.engine, QueueName("111122223333", "theirs"), {}, {})

    await patient.post("/queues/purge", chosen="theirs", typed="theirs", account="111122223333")

    assert [one.text for one in patient.console.grace.of("111122223333")] == ["theirs will be purged"]
    assert not patient.console.grace.of(ACCOUNT)
    assert "111122223333/theirs" in (await patient.get("/changes")).words


async def test_deleting_a_queue_can_be_called_off(patient: Desk) -> None:
    await patient.post("/queues/delete", chosen="orders", typed="orders")

    await patient.post("/undo/1")

    assert await ready(patient) == 2


async def test_deleting_messages_can_be_called_off_or_is_done(patient: Desk, over: asyncio.Event) -> None:
    page = await patient.get(f"/q/{ACCOUNT}/orders/messages")
    one = page.text.partition('id="m-')[2][:36]
    await patient.post(f"/q/{ACCOUNT}/orders/messages/chosen", {"do": "delete", "chosen": one})
    await patient.post("/undo/1")

    words = (await patient.post(f"/q/{ACCOUNT}/orders/messages/chosen", {"do": "delete", "chosen": one})).words
    over.set()
    await done(patient)
    await patient.console.grace.end()

    assert "1 message of orders will be deleted in 10 seconds" in words
    assert await ready(patient) == 1


async def test_what_fails_later_is_told_for_a_while(patient: Desk, over: asyncio.Event) -> None:
    await purge(patient)
    await purge(patient)
    over.set()
    await until(lambda: any(one.problem for one in patient.console.grace.of(ACCOUNT)))

    assert "Not done. orders will be purged: Nothing was done. Not purged" in (await patient.get("/")).words
    patient.bench.clock.advance_ms(GRACE_MS + FAILED_SHOWN_MS + 1)
    assert "Not done." not in (await patient.get("/")).words


async def test_a_server_that_ends_does_nothing_that_still_waits(patient: Desk) -> None:
    await purge(patient)

    await patient.console.grace.end()

    assert await ready(patient) == 2


async def test_nobody_calls_off_what_is_none_of_his_business(patient: Desk) -> None:
    await patient.add_user("alice", Role.ADMINISTRATOR)
    await patient.add_user("reader", Role.READ_ONLY)
    await patient.add_user("stranger", Role.ADMINISTRATOR, "111122223333")
    await patient.log_in("alice")
    await purge(patient)
    for name in ("reader", "stranger"):
        await patient.log_in(name)
        page = await patient.post("/undo/1")
        assert page.status == 403 or "Too late" in page.words
        assert "Undo" not in (await patient.get("/")).words

    assert len(patient.console.grace.of(ACCOUNT)) == 1
