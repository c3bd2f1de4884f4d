"""Dead letters and move tasks while other nodes delete, purge, start and cancel."""

from __future__ import annotations

import asyncio

import pytest

from cqs import limits
from cqs.errors import InvalidParameterValue, QueueDoesNotExist, StoreUnavailable
from cqs.queue import Queue, QueueName
from cqs.service import leadership, move_tasks, queues, revisibility
from cqs.service.move_batch import NO_QUEUE
from cqs.service.move_runner import LEASE_MS, step
from cqs.store.interface import MoveStatus, MoveTask
from tests.cluster import Town
from tests.engine import ACCOUNT, Bench, until
from tests.unit.dead_letters import running, with_dead_letters

DEAD = QueueName(ACCOUNT, "dead")


async def no_pause(_: int) -> None:
    pass


async def received_once(bench: Bench, queue: Queue, body: str) -> None:
    await bench.send(queue, body)
    assert [one.message.body for one in await bench.receive(queue, visibility_ms=0)] == [body]


@pytest.mark.parametrize("is_made_anew", [False, True])
async def test_a_dead_letter_stays_when_another_node_has_just_deleted_its_queue(is_made_anew: bool) -> None:
    _, a, b, orders, dead = await with_dead_letters()
    await received_once(b, orders, "one")
    await queues.delete(a.engine, dead)
    if is_made_anew:
        a.clock.advance_ms(limits.RECREATE_WAIT_MS)
        await a.create("dead")

    await b.receive(orders)

    assert [message.body for message in await b.stored(orders)] == ["one"]


async def test_a_dead_letter_goes_to_what_another_node_has_just_purged() -> None:
    _, a, b, orders, dead = await with_dead_letters()
    await received_once(b, orders, "one")
    await queues.purge(a.engine, dead)

    await b.receive(orders)

    assert await a.bodies(a.engine.registry.find(DEAD)) == ["one"]


@pytest.mark.parametrize("is_target_named", [False, True])
async def test_a_move_task_fails_when_another_node_has_just_deleted_the_target(is_target_named: bool) -> None:
    _, a, b, orders, dead = await with_dead_letters("one")
    handle = await move_tasks.start(a.engine, dead.arn, orders.arn if is_target_named else "", 0)
    await queues.delete(b.engine, orders)

    with pytest.raises(QueueDoesNotExist):
        await step(a.engine, handle, no_pause)
    assert await step(a.engine, handle, no_pause) is None

    task = a.engine.moves.get(handle)
    assert task is not None
    assert (task.status, task.failure, task.moved) == (MoveStatus.FAILED, NO_QUEUE, 0)
    assert await a.bodies(dead) == ["one"]


async def test_a_move_task_moves_to_what_another_node_has_just_purged() -> None:
    _, a, b, orders, dead = await with_dead_letters("one")
    handle = await move_tasks.start(a.engine, dead.arn, orders.arn, 0)
    await queues.purge(b.engine, orders)

    await step(a.engine, handle, no_pause)

    assert await b.bodies(b.engine.registry.find(orders.key)) == ["one"]


async def test_a_cancel_that_comes_when_the_task_has_ended_leaves_no_active_task() -> None:
    town, a, b, orders, dead = await with_dead_letters("one")
    handle = await move_tasks.start(a.engine, dead.arn, orders.arn, 0)
    save = town.store.save_move_task

    async def save_late(task: MoveTask) -> None:
        if task.status is MoveStatus.CANCELLING:
            while await step(a.engine, handle, no_pause) is not None:
                pass
        await save(task)

    town.store.save_move_task = save_late  # type: ignore[method-assign]
    await move_tasks.cancel(b.engine, handle)
    await town.beat()

    (task,) = await move_tasks.listed(b.engine, dead.arn, 10)
    assert (task.status, task.moved) == (MoveStatus.COMPLETED, 1)
    assert await move_tasks.start(b.engine, dead.arn, orders.arn, 0)


async def test_the_leader_knows_at_once_of_a_task_that_another_node_started() -> None:
    _, a, b, orders, dead = await with_dead_letters("one")
    await move_tasks.listed(a.engine, dead.arn, 10)
    handle = await move_tasks.start(b.engine, dead.arn, orders.arn, 0)

    assert [task.handle for task in await move_tasks.listed(a.engine, dead.arn, 10)] == [handle]
    assert await move_tasks.cancel(a.engine, handle) == 0


async def test_one_task_a_source_also_when_another_node_has_just_started_it() -> None:
    _, a, b, orders, dead = await with_dead_letters("one")
    await move_tasks.listed(a.engine, dead.arn, 10)
    await move_tasks.start(b.engine, dead.arn, orders.arn, 0)

    with pytest.raises(InvalidParameterValue, match="already a task running"):
        await move_tasks.start(a.engine, dead.arn, orders.arn, 0)


async def test_one_task_a_source_also_when_two_nodes_start_it_at_one_moment() -> None:
    town, a, b, orders, dead = await with_dead_letters("one")
    save = town.store.save_move_task

    async def save_slowly(task: MoveTask) -> None:
        await asyncio.sleep(0)
        await save(task)

    town.store.save_move_task = save_slowly  # type: ignore[method-assign]
    starts = [move_tasks.start(bench.engine, dead.arn, orders.arn, 0) for bench in (a, b)]

    answers = await asyncio.gather(*starts, return_exceptions=True)

    assert [type(answer) for answer in answers] == [str, InvalidParameterValue]
    assert "already a task running" in str(answers[1])
    assert len(await move_tasks.listed(b.engine, dead.arn, 10)) == 1


async def test_a_start_that_failed_keeps_no_later_one_from_starting() -> None:
    town, a, b, orders, dead = await with_dead_letters("one")
    town.store.fail("save_move_task", StoreUnavailable("by the test"))
    with pytest.raises(StoreUnavailable):
        await move_tasks.start(a.engine, dead.arn, orders.arn, 0)

    assert await move_tasks.start(b.engine, dead.arn, orders.arn, 0)


async def test_a_task_that_was_cancelled_ends_while_the_cache_of_its_source_is_away() -> None:
    town, a, _, orders, dead = await with_dead_letters("one")
    handle = await move_tasks.start(a.engine, dead.arn, orders.arn, 0)
    town.cache.cut()
    async with running(a):
        await move_tasks.cancel(a.engine, handle)
        await until(lambda: not a.engine.moves.active())

    assert [task.status for task in await move_tasks.listed(a.engine, dead.arn, 10)] == [MoveStatus.CANCELLED]


class Killed(BaseException):
    """The node dies here."""


async def kill_mover(town: Town, a: Bench, handle: str, at: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Node a dies in a step of the task, when it calls `at`; its leadership runs out."""
    await town.beat()

    async def killed(*_: object) -> None:
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(at, killed)
        with pytest.raises(Killed):
            await step(a.engine, handle, no_pause)
    await town.kill("a")
    town.clock.advance_ms(leadership.LEASE_MS)
    await town.beat()


async def test_what_a_mover_that_was_killed_had_moved_is_not_handed_out_from_its_source(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    town, a, b, orders, dead = await with_dead_letters("one", "two")
    handle = await move_tasks.start(a.engine, dead.arn, orders.arn, 1)
    await kill_mover(town, a, handle, "cqs.service.carry.confirm.remove", monkeypatch)
    async with running(b):
        await until(lambda: not b.engine.moves.active())
    town.clock.advance_ms(LEASE_MS)
    await town.beat()
    await revisibility.step(b.engine)

    assert await b.stored(dead) == []
    assert await b.bodies(dead) == []


async def test_what_a_mover_that_was_killed_had_taken_is_moved_before_the_task_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    town, a, b, orders, dead = await with_dead_letters("one", "two")
    handle = await move_tasks.start(a.engine, dead.arn, orders.arn, 1)
    await kill_mover(town, a, handle, "cqs.service.move_batch.contents", monkeypatch)
    async with running(b):
        await until(lambda: b.engine.moves.is_loaded)
        while b.engine.moves.active():
            await town.beat()
            await asyncio.sleep(0)

    assert sorted(message.body for message in await b.stored(orders)) == ["one", "two"]
    assert await b.stored(dead) == []
