"""Starting, cancelling and listing message move tasks."""

from __future__ import annotations

import asyncio
import json
from base64 import b64decode, b64encode

import pytest

from cqs import limits
from cqs.errors import InvalidParameterValue, OverLimit, ResourceNotFound, StoreUnavailable
from cqs.queue import QueueName
from cqs.service import move_tasks, queues
from cqs.store.interface import MoveStatus, MoveTask
from tests.engine import make_bench
from tests.unit.dead_letters import carry_out, newest, one_pair, source_of

NOWHERE = "arn:aws:sqs:us-east-1:000000000000:nowhere"
GONE = "The resource that you specified for the {} parameter doesn't exist."


async def test_started_task_is_listed_and_stored() -> None:
    bench = await make_bench()
    orders, dead = await one_pair(bench, "one", "two")

    handle = await move_tasks.start(bench.engine, dead.arn, orders.arn, 5)

    task = newest(bench, dead)
    assert task == MoveTask(
        handle=handle,
        source=dead.key,
        source_arn=dead.arn,
        source_uid=dead.uid,
        target_arn=orders.arn,
        rate_max=5,
        to_move=2,
        started_ms=bench.clock.now_ms(),
    )
    assert await bench.store.move_tasks() == [task]


async def test_handle_is_opaque_and_names_the_source() -> None:
    bench = await make_bench()
    _, dead = await one_pair(bench)

    handle = await move_tasks.start(bench.engine, dead.arn, "", 0)

    assert json.loads(b64decode(handle))["sourceArn"] == dead.arn
    assert move_tasks.source_arn_of(handle) == dead.arn


@pytest.mark.parametrize(
    ("source", "target", "text"),
    [
        (NOWHERE, "", GONE.format("SourceArn")),
        (None, NOWHERE, GONE.format("DestinationArn")),
        ("arn:aws:sqs:eu-west-1:000000000000:dead", "", GONE.format("SourceArn")),
    ],
)
async def test_missing_queue_is_not_found(source: str | None, target: str, text: str) -> None:
    bench = await make_bench()
    _, dead = await one_pair(bench)

    with pytest.raises(ResourceNotFound) as raised:
        await move_tasks.start(bench.engine, source or dead.arn, target, 0)

    assert str(raised.value) == text


async def test_source_must_be_a_dead_letter_queue() -> None:
    bench = await make_bench()
    orders, dead = await one_pair(bench)

    with pytest.raises(InvalidParameterValue) as raised:
        await move_tasks.start(bench.engine, orders.arn, dead.arn, 0)

    assert str(raised.value) == "Source queue must be configured as a Dead Letter Queue."


async def test_target_must_fit() -> None:
    bench = await make_bench()
    _, dead = await one_pair(bench)
    fifo = await bench.create("a.fifo")
    foreign = await queues.create(bench.engine, QueueName("111111111111", "a"), {}, {})

    for target, text in [(dead.arn, "cannot be the same"), (fifo.arn, "same type"), (foreign.arn, "same account")]:
        with pytest.raises(InvalidParameterValue, match=text):
            await move_tasks.start(bench.engine, dead.arn, target, 0)
    for target in ("orders", "arn:aws:sns:us-east-1:000000000000:orders"):
        with pytest.raises(InvalidParameterValue, match="You must use this format to specify the DestinationArn"):
            await move_tasks.start(bench.engine, dead.arn, target, 0)


@pytest.mark.parametrize("rate", [-1, 501])
async def test_rate_has_bounds(rate: int) -> None:
    bench = await make_bench()
    _, dead = await one_pair(bench)

    with pytest.raises(InvalidParameterValue, match="MaxNumberOfMessagesPerSecond"):
        await move_tasks.start(bench.engine, dead.arn, "", rate)


async def test_source_has_one_active_task() -> None:
    bench = await make_bench()
    _, dead = await one_pair(bench, "one")
    await move_tasks.start(bench.engine, dead.arn, "", 0)

    with pytest.raises(InvalidParameterValue) as raised:
        await move_tasks.start(bench.engine, dead.arn, "", 0)
    assert str(raised.value) == (
        "There is already a task running. Only one active task is allowed for a source queue arn at a given time."
    )

    await carry_out(bench)
    await move_tasks.start(bench.engine, dead.arn, "", 0)


async def test_two_starts_at_once_are_one_task_and_an_error() -> None:
    bench = await make_bench()
    bench.store.slow("save_move_task", "move_tasks")
    _, dead = await one_pair(bench)

    results = await asyncio.gather(
        *(move_tasks.start(bench.engine, dead.arn, "", 0) for _ in range(2)), return_exceptions=True
    )

    assert sorted(type(result).__name__ for result in results) == ["InvalidParameterValue", "str"]


async def test_active_task_of_an_earlier_process_counts() -> None:
    bench = await make_bench()
    _, dead = await one_pair(bench, "one")
    await move_tasks.start(bench.engine, dead.arn, "", 0)

    bench = await bench.restart()

    with pytest.raises(InvalidParameterValue, match="already a task running"):
        await move_tasks.start(bench.engine, dead.arn, "", 0)


async def test_start_that_is_not_stored_leaves_no_task() -> None:
    bench = await make_bench()
    _, dead = await one_pair(bench)
    bench.store.fail("save_move_task", StoreUnavailable("disk full"))

    with pytest.raises(StoreUnavailable):
        await move_tasks.start(bench.engine, dead.arn, "", 0)

    assert move_tasks.tasks_of(bench.engine, dead.arn, 10) == []
    await move_tasks.start(bench.engine, dead.arn, "", 0)


async def test_account_has_a_hundred_active_tasks() -> None:
    bench = await make_bench()
    orders, _ = await one_pair(bench)
    for number in range(limits.MOVE_TASKS_ACTIVE_MAX + 1):
        dead = await bench.create(f"dead-{number}")
        await source_of(bench, f"source-{number}", dead)
        if number < limits.MOVE_TASKS_ACTIVE_MAX:
            await move_tasks.start(bench.engine, dead.arn, orders.arn, 0)

    with pytest.raises(OverLimit):
        await move_tasks.start(bench.engine, dead.arn, orders.arn, 0)


async def test_newest_tasks_come_first_and_ten_are_kept() -> None:
    bench = await make_bench()
    _, dead = await one_pair(bench)
    handles: list[str] = []
    for _ in range(12):
        handles.append(await move_tasks.start(bench.engine, dead.arn, "", 0))
        await carry_out(bench)
        bench.clock.advance_ms(1)

    listed = [task.handle for task in move_tasks.tasks_of(bench.engine, dead.arn, 100)]
    restarted = await bench.restart()
    await carry_out(restarted)

    assert listed == handles[:1:-1]
    assert [task.handle for task in move_tasks.tasks_of(restarted.engine, dead.arn, 100)] == listed
    assert [task.handle for task in move_tasks.tasks_of(bench.engine, dead.arn, 2)] == listed[:2]


async def test_tasks_of_a_missing_queue_are_not_found() -> None:
    bench = await make_bench()

    with pytest.raises(ResourceNotFound):
        move_tasks.tasks_of(bench.engine, NOWHERE, 1)


async def test_cancel_marks_the_task_and_can_be_repeated() -> None:
    bench = await make_bench()
    _, dead = await one_pair(bench, "one")
    handle = await move_tasks.start(bench.engine, dead.arn, "", 0)

    assert await move_tasks.cancel(bench.engine, handle) == 0
    assert await move_tasks.cancel(bench.engine, handle) == 0

    assert newest(bench, dead).status is MoveStatus.CANCELLING
    assert [task.status for task in await bench.store.move_tasks()] == [MoveStatus.CANCELLING]


async def test_ended_task_is_not_cancelled() -> None:
    bench = await make_bench()
    _, dead = await one_pair(bench, "one")
    handle = await move_tasks.start(bench.engine, dead.arn, "", 0)
    await carry_out(bench)

    with pytest.raises(ResourceNotFound) as raised:
        await move_tasks.cancel(bench.engine, handle)

    assert str(raised.value) == "Task does not exist."


def handle_of(**said: str) -> str:
    return b64encode(json.dumps(said).encode()).decode()


@pytest.mark.parametrize(
    "handle",
    ["", "x", "%%%", "ä", handle_of(taskId="1")]
    + [b64encode(text).decode() for text in (b"no JSON", b"[]", b"\xff", b'{"taskId": "1", "more": ' + b"[" * 9_000)],
)
async def test_bad_handle_is_refused(handle: str) -> None:
    bench = await make_bench()

    with pytest.raises(InvalidParameterValue) as raised:
        await move_tasks.cancel(bench.engine, handle)

    assert str(raised.value) == "Value for parameter TaskHandle is invalid."


async def test_unknown_handle_is_not_found() -> None:
    bench = await make_bench()
    _, dead = await one_pair(bench)

    with pytest.raises(ResourceNotFound, match=r"^Task does not exist\.$"):
        await move_tasks.cancel(bench.engine, handle_of(taskId="1", sourceArn=dead.arn))
    with pytest.raises(ResourceNotFound, match="SourceArn"):
        await move_tasks.cancel(bench.engine, handle_of(taskId="1", sourceArn=NOWHERE))
