"""The dead-letter workshop: why messages are there, which are alike, and how they are redriven."""

from __future__ import annotations

import asyncio

import pytest

from admin.jobs import Job, JobStatus
from admin.letters import Kind, kind_of, reason_of, shape_of
from admin.views import dead_letters
from cqs.errors import StoreUnavailable
from cqs.message import Attribute, Message
from cqs.queue import Queue, Redrive
from cqs.service import move_tasks
from cqs.service.draft_rules import Draft
from cqs.service.send import send_batch
from tests.console.desk import Desk, Seen
from tests.console.talk import there
from tests.engine import ACCOUNT, until

DEAD = f"/q/{ACCOUNT}/dead"


@pytest.fixture
async def dead(desk: Desk) -> Queue:
    """A dead-letter queue with three messages of `orders` and one of `mails`."""
    queue = await desk.bench.create("dead")
    orders = await desk.bench.create("orders", redrive=Redrive(queue.arn, 1))
    mails = await desk.bench.create("mails", redrive=Redrive(queue.arn, 2))
    await send_batch(desk.bench.engine, orders, [Draft('{"order": 1}', (_error("no such customer"),))], "s")
    await desk.bench.send(orders, '{"order": 2}', "not json")
    await desk.bench.send(mails, '{"to": "ada", "error": "bounced"}')
    for source, count in ((orders, 2), (mails, 3)):
        for _ in range(count):
            await desk.bench.receive(source, visibility_ms=0)
    await desk.get("/queues")
    return queue


def _error(text: str) -> Attribute:
    return Attribute("ErrorMessage", "String", text.encode())


async def bodies(desk: Desk, name: str) -> list[str]:
    queue = next(one for one in desk.bench.engine.registry if one.name == name)
    return sorted(one.message.body for one in await there(desk, queue))


async def job_ended(desk: Desk) -> Job:
    job = desk.console.jobs.of(ACCOUNT)[0]
    await until(lambda: not job.is_running)
    return job


async def redrive(desk: Desk, which: str, **fields: str | list[str]) -> Seen:
    return await desk.post(f"{DEAD}/redrive", {"which": which, **fields})


async def test_the_list_of_dead_letter_queues_says_whose_they_are(desk: Desk, dead: Queue) -> None:
    page = await desk.get("/dead-letters")

    row = page.words.partition("Move in progress")[2]
    assert row.split()[:2] == ["dead", "4"]
    assert "mails, orders" in row.replace(" ,", ",")


async def test_each_letter_says_why_it_is_there(desk: Desk, dead: Queue) -> None:
    page = await desk.get(f"{DEAD}/dead-letters")

    for why in ("no such customer", "Received more than once from orders.", "bounced"):
        assert why in page.words


async def test_letters_that_are_alike_are_counted_together_and_shown_alone(desk: Desk, dead: Queue) -> None:
    page = await desk.get(f"{DEAD}/dead-letters")
    alone = await desk.get(f"{DEAD}/dead-letters?from=orders&shape=%7Border%7D")

    assert "orders {order} no such customer 1 orders {order} – 1" in page.words
    assert alone.text.count("data-row") == 2
    assert "not json" not in alone.words


async def test_chosen_letters_go_back_to_where_each_came_from(desk: Desk, dead: Queue) -> None:
    letters = {one.message.body: one.message.message_id for one in await there(desk, dead)}

    page = await redrive(desk, "chosen", chosen=[letters["not json"], letters['{"to": "ada", "error": "bounced"}']])

    job = await job_ended(desk)
    assert "The job has started." in page.words
    assert (job.status, job.done, job.failed) == (JobStatus.DONE, 2, 0)
    assert await bodies(desk, "orders") == ["not json"]
    assert await bodies(desk, "mails") == ['{"to": "ada", "error": "bounced"}']
    assert len(await bodies(desk, "dead")) == 2


async def test_all_that_match_go_to_a_chosen_queue(desk: Desk, dead: Queue) -> None:
    await desk.bench.create("elsewhere")

    await redrive(desk, "matching", text="ORDER", target="elsewhere", **{"from": "orders"})

    job = await job_ended(desk)
    assert (job.done, job.failed) == (2, 0)
    assert await bodies(desk, "elsewhere") == ['{"order": 1}', '{"order": 2}']
    assert await bodies(desk, "dead") == ["not json", '{"to": "ada", "error": "bounced"}']


async def test_a_letter_that_can_not_go_stays_and_is_told(desk: Desk, dead: Queue) -> None:
    letters = [one.message.message_id for one in await there(desk, dead)]
    desk.bench.store.fail("append", StoreUnavailable("disk full"))

    await redrive(desk, "chosen", chosen=letters)

    job = await job_ended(desk)
    assert job.done == 3
    assert job.failed == 1
    page = await desk.get(f"/moves/job/{job.number}")
    assert "disk full" in page.words
    assert len(await bodies(desk, "dead")) == 1


async def test_everything_goes_back_by_a_move_task_with_its_own_page(desk: Desk, dead: Queue) -> None:
    page = await redrive(desk, "all", rate="10")

    assert page.path.startswith("/ADMIN/moves/task?handle=")
    assert "0 of 4 moved" in page.words
    assert "10 per second" in page.words
    running = asyncio.ensure_future(move_tasks.run(desk.bench.engine, _no_pause))
    await until(lambda: not desk.bench.engine.moves.active())
    running.cancel()
    assert len(await bodies(desk, "orders")) == 3
    assert "done" in (await desk.get("/moves")).words


async def test_a_move_is_stopped(desk: Desk, dead: Queue) -> None:
    await redrive(desk, "all")
    handle = desk.bench.engine.moves.active()[0].handle

    page = await desk.post("/moves/task/stop", {"handle": handle})

    assert "Stopping. 0 were moved so far." in page.words


async def _no_pause(_: int) -> None:
    await asyncio.sleep(0)


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"which": "chosen"}, "Choose 1 to 1,000 messages."),
        ({"which": "all", "rate": "501"}, "Messages per second: a whole number from 0 to 500"),
        ({"which": "all", "target": "nowhere"}, "Send to: there is no such queue."),
        ({"which": "all", "target": "dead"}, "Send to: that is the queue itself."),
        ({"which": "all", "target": "a b"}, "is not a valid queue name"),
        ({"which": "everything"}, "Which: it must be one of"),
    ],
)
async def test_what_makes_no_sense_is_refused(desk: Desk, dead: Queue, fields: dict[str, str], told: str) -> None:
    page = await desk.post(f"{DEAD}/redrive", fields)

    assert told in page.words
    assert len(await bodies(desk, "dead")) == 4


async def test_a_queue_without_dead_letters_says_what_it_has(desk: Desk, dead: Queue) -> None:
    await desk.bench.create("plain")

    assert "No dead-letter queue" in (await desk.get(f"/q/{ACCOUNT}/plain/dead-letters")).words
    assert "which holds 4" in (await desk.get(f"/q/{ACCOUNT}/orders/dead-letters")).words


@pytest.mark.parametrize(
    ("body", "shape"),
    [
        ('{"b": 1, "a": 2}', "{a, b}"),
        ("[1]", "JSON list"),
        ("{broken", "broken JSON"),
        ("<a/>", "XML"),
        ("hello", "text"),
        ("", "text"),
        ("[" * 100_000, "broken JSON"),
        ('{"1":1,"2":1,"3":1,"4":1,"5":1,"6":1,"7":1,"8":1}', "{1, 2, 3, 4, 5, 6 +2}"),
    ],
)
def test_shapes(body: str, shape: str) -> None:
    assert shape_of(body) == shape


async def test_what_a_letter_tells_is_found_out_once(desk: Desk, dead: Queue, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []

    def counted(message: Message) -> Kind:
        read.append(message.body)
        return kind_of(message)

    monkeypatch.setattr(dead_letters, "kind_of", counted)
    monkeypatch.setattr("admin.thrift.PAUSE", 1e9)

    await desk.get(f"{DEAD}/dead-letters?shape=text")
    await desk.get(f"{DEAD}/dead-letters?shape=text", HX_Request="true")

    assert len(read) == 4


async def test_a_message_that_was_sent_to_the_dead_letter_queue_says_so(desk: Desk, dead: Queue) -> None:
    await desk.bench.send(dead, "by hand")

    message = (await there(desk, dead))[-1].message
    assert reason_of(message, desk.bench.engine.registry) == "It was sent directly to this queue."


async def test_letters_are_told_apart_by_the_error_that_they_tell_of(desk: Desk, dead: Queue) -> None:
    for body in (
        '{"error": "timeout after 31 s"}',
        '{"error": "timeout after 7 s"}',
        '{"error": "no such user 5f-3a"}',
    ):
        await desk.bench.send(dead, body)

    page = await desk.get(f"{DEAD}/dead-letters")
    alone = await desk.get(f"{DEAD}/dead-letters?error=timeout+after+%23+s")

    assert "sent directly {error} timeout after # s 2" in page.words
    assert "sent directly {error} no such user # 1" in page.words
    assert ("after 31 s" in alone.words, "after 7 s" in alone.words, "no such user 5f" in alone.words) == (
        True, True, False,
    )  # fmt: skip
