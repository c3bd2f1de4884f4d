"""The log of changes says what became of a change, not only that somebody asked for it: done later, failed, called off,
dropped, or done in part."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from admin.action_log import Line, Question
from admin.grace import Grace
from cqs.errors import OutcomeUnknown, StoreUnavailable
from cqs.queue import QueueName
from cqs.service import queues
from tests.console.desk import Desk, make_desk
from tests.console.talk import ORDERS, there
from tests.engine import ACCOUNT, make_bench, until


@pytest.fixture
def over() -> asyncio.Event:
    """An event; when it is set, the time to undo is over."""
    return asyncio.Event()


@pytest.fixture
async def patient(over: asyncio.Event, tmp_path: Path) -> AsyncIterator[Desk]:
    """A console with a grace period, and the queues `orders` and `mails`."""
    bench = await make_bench()

    async def pause(_: float) -> None:
        await over.wait()

    desk = await make_desk(bench=bench, grace=Grace(bench.clock, pause=pause), folder=tmp_path)
    for name in ("orders", "mails"):
        await bench.create(name)
    yield desk
    await desk.client.close()


async def told(desk: Desk, action: str) -> list[Line]:
    """Returns the log's lines, oldest first."""
    lines, _ = await desk.console.actions.find(Question(action=action), 1_000)
    return lines[::-1]


async def settled(desk: Desk) -> None:
    await until(lambda: not [one for one in desk.console.grace.of(ACCOUNT) if one.task is not None])
    await desk.console.grace.end()


async def test_what_is_done_later_is_written_when_asked_for_and_when_done(patient: Desk, over: asyncio.Event) -> None:
    await patient.post("/queues/delete", {"chosen": ["orders", "mails"]}, typed="delete 2 queues")
    asked = [(line.target, line.detail) for line in await told(patient, "DeleteQueue")]
    over.set()
    await settled(patient)

    assert asked == [(f"{ACCOUNT}/{name}", "to be done in 10 seconds") for name in ("orders", "mails")]
    done = [(line.target, line.detail, line.error) for line in (await told(patient, "DeleteQueue"))[2:]]
    assert done == [(f"{ACCOUNT}/{name}", "done", "") for name in ("orders", "mails")]


@pytest.mark.parametrize(
    ("names", "told"),
    [
        (["a"], "a will be purged"),
        (["a", "b"], "a and b will be purged"),
        (["a", "b", "c"], "a, b and c will be purged"),
        (["a", "b", "c", "d"], "a, b, c and 1 more queue will be purged"),
        (["a", "b", "c", "d", "e"], "a, b, c and 2 more queues will be purged"),
    ],
)
async def test_what_waits_is_named(patient: Desk, names: list[str], told: str) -> None:
    for name in names:
        await patient.bench.create(name)
    typed = names[0] if len(names) == 1 else f"purge {len(names)} queues"

    await patient.post("/queues/purge", {"chosen": names}, typed=typed)

    assert [one.text for one in patient.console.grace.of(ACCOUNT)] == [told]


async def test_what_fails_later_is_written_for_each_queue(patient: Desk, over: asyncio.Event) -> None:
    await patient.post("/queues/purge", {"chosen": ["orders", "mails"]}, typed="purge 2 queues")
    engine = patient.bench.engine
    await queues.delete(engine, engine.registry.find(QueueName(ACCOUNT, "mails")))
    over.set()
    await settled(patient)

    orders, mails = (await told(patient, "PurgeQueue"))[2:]
    assert (orders.target, orders.error) == (f"{ACCOUNT}/orders", "")
    assert mails.target == f"{ACCOUNT}/mails"
    assert "does not exist" in mails.error


async def test_a_change_that_breaks_is_written_as_failed(
    patient: Desk, over: asyncio.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    await patient.post("/queues/purge", chosen="orders", typed="orders")

    async def broken() -> None:
        raise StoreUnavailable("the store is away")

    monkeypatch.setattr(patient.accounts, "identities", broken)
    monkeypatch.setattr(type(patient.bench.store), "save", lambda *_: broken())
    over.set()
    await settled(patient)

    assert [line.error for line in await told(patient, "PurgeQueue")] == ["", "the store is away"]


async def test_what_is_called_off_is_written_with_its_name(patient: Desk) -> None:
    await patient.post("/queues/purge", chosen="orders", typed="orders")
    (pending,) = patient.console.grace.of(ACCOUNT)
    await patient.post(f"/undo/{pending.number}")

    (line,) = await told(patient, "Undo")
    assert (line.target, line.detail) == (
        f"{ACCOUNT}/orders",
        "Cancelled: nothing was done. (orders will be purged)",
    )


async def test_what_a_server_that_ends_has_not_done_is_written(patient: Desk) -> None:
    await patient.post("/queues/purge", chosen="orders", typed="orders")

    await patient.console.grace.end()

    assert [line.error for line in await told(patient, "PurgeQueue")] == ["", "The server stopped before it was done."]


async def test_every_message_that_was_deleted_is_named(patient: Desk, over: asyncio.Event) -> None:
    queue = patient.bench.engine.registry.find(QueueName(ACCOUNT, "orders"))
    for _ in range(10):
        await patient.bench.send(queue, *[str(number) for number in range(10)])
    chosen = [one.message.message_id for one in await there(patient, queue)]
    await patient.post(f"{ORDERS}/messages/chosen", {"do": "delete", "chosen": chosen})
    over.set()
    await settled(patient)

    lines = await told(patient, "ChangeMessages")
    for part in (lines[: len(lines) // 2], lines[len(lines) // 2 :]):
        assert {one for one in chosen if any(one in line.detail for line in part)} == set(chosen)


async def test_a_list_that_was_sent_in_part_is_told_and_not_sent_twice(desk: Desk) -> None:
    queue = await desk.bench.create("orders")
    lines = [f"m{number}" for number in range(25)]
    desk.bench.store.fail("append", StoreUnavailable("disk full"), after=1)
    await desk.get("/queues")

    page = await desk.post(f"{ORDERS}/send", {"lines": "\n".join(lines)})

    assert "10 of 25 were sent" in page.words
    assert "disk full" in page.words
    assert [line.error for line in await told(desk, "SendMessage")] == [
        "10 of 25 were sent, and were removed from the lines; then: disk full"
    ]
    left = page.text.partition('name="lines"')[2].partition(">")[2].partition("</textarea>")[0]
    await desk.post(f"{ORDERS}/send", {"lines": left})
    assert sorted(one.message.body for one in await there(desk, queue)) == sorted(lines)


async def test_a_list_of_which_nothing_was_sent_says_only_why(desk: Desk) -> None:
    await desk.bench.create("orders")
    desk.bench.store.fail("append", OutcomeUnknown("no answer"))
    await desk.get("/queues")

    page = await desk.post(f"{ORDERS}/send", {"lines": "a\nb"})

    assert "no answer" in page.words
    assert "were sent" not in page.words
