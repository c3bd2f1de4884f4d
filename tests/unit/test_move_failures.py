"""Move tasks under adverse conditions: deleted queues, failing stores and caches, concurrent deletes, restarts."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from cqs import limits
from cqs.cache.interface import TakeRequest
from cqs.errors import CacheUnavailable, OutcomeUnknown, StoreUnavailable
from cqs.message import Message
from cqs.queue import Queue
from cqs.service import delete, move_tasks, queues
from cqs.service.engine import shard_of
from cqs.service.move_batch import NO_QUEUE, NO_SOURCE
from cqs.service.move_runner import LEASE_MS, TOO_LONG, step
from cqs.service.send import Draft, send
from cqs.store.interface import Move, MoveStatus
from tests.engine import Bench, make_bench, until
from tests.unit.dead_letters import carry_out, newest, one_pair, running


async def no_pause(_: int) -> None:
    pass


async def test_target_that_disappears_fails_the_task() -> None:
    bench = await make_bench()
    orders, dead = await one_pair(bench, "one", "two", "three")
    await move_tasks.start(bench.engine, dead.arn, orders.arn, 1)
    async with running(bench):
        await until(lambda: newest(bench, dead).moved == 1)
        await queues.delete(bench.engine, orders)
        await until(lambda: not bench.engine.moves.active())

    task = newest(bench, dead)
    assert (task.status, task.failure, task.moved) == (MoveStatus.FAILED, NO_QUEUE, 1)
    assert await bench.store.move_tasks() == [task]
    assert sorted(await bench.bodies(dead)) == ["three", "two"]


async def test_source_that_disappears_fails_the_task() -> None:
    bench = await make_bench()
    orders, dead = await one_pair(bench, "one")
    await move_tasks.start(bench.engine, dead.arn, "", 0)
    await queues.delete(bench.engine, dead)

    await carry_out(bench)

    (task,) = await bench.store.move_tasks()
    assert (task.status, task.failure, task.moved) == (MoveStatus.FAILED, NO_QUEUE, 0)
    assert await bench.bodies(orders) == []


async def test_source_that_is_created_anew_fails_the_task_and_keeps_its_messages() -> None:
    bench = await make_bench()
    orders, dead = await one_pair(bench, "old", "old")
    await move_tasks.start(bench.engine, dead.arn, orders.arn, 1)
    async with running(bench):
        await until(lambda: newest(bench, dead).moved == 1)
        await queues.delete(bench.engine, dead)
        anew = await bench.create("dead")
        await bench.send(anew, "new")
        await until(lambda: not bench.engine.moves.active())
    assert newest(bench, anew).failure == NO_QUEUE
    assert await bench.bodies(anew) == ["new"]


async def test_purged_source_completes_the_task() -> None:
    bench = await make_bench()
    _, dead = await one_pair(bench, "one")
    await move_tasks.start(bench.engine, dead.arn, "", 0)
    await queues.purge(bench.engine, dead)

    await carry_out(bench)

    assert (newest(bench, dead).status, newest(bench, dead).moved) == (MoveStatus.COMPLETED, 0)


async def test_message_without_an_original_source_fails_the_task_and_stays() -> None:
    bench = await make_bench()
    orders, dead = await one_pair(bench, "one")
    await send(bench.engine, dead, Draft("sent to the dead-letter queue"), "s")
    await move_tasks.start(bench.engine, dead.arn, "", 0)

    await carry_out(bench)

    task = newest(bench, dead)
    assert (task.status, task.failure, task.moved) == (MoveStatus.FAILED, NO_SOURCE, 1)
    assert await bench.bodies(orders) == ["one"]
    (stayed,) = await bench.receive(dead)
    assert (stayed.message.body, stayed.received.receive_count) == ("sent to the dead-letter queue", 1)


async def test_task_does_not_run_for_ever() -> None:
    bench = await make_bench()
    _, dead = await one_pair(bench, "one")
    await move_tasks.start(bench.engine, dead.arn, "", 0)
    bench.clock.advance_ms(limits.MOVE_TASK_MS_MAX + 1)

    await carry_out(bench)

    assert (newest(bench, dead).status, newest(bench, dead).failure) == (MoveStatus.FAILED, TOO_LONG)


@pytest.mark.parametrize("suffix", ["", ".fifo"])
@pytest.mark.parametrize("call", ["move", "claim", "read", "save_move_task"])
async def test_store_that_fails_delays_the_task_only(call: str, suffix: str) -> None:
    bench = await make_bench(body_budget_bytes=0)
    orders, dead = await one_pair(bench, "one", "two", suffix=suffix)
    await move_tasks.start(bench.engine, dead.arn, "", 0)
    bench.store.fail(call, StoreUnavailable("disk full"), times=3)

    await carry_out(bench)

    assert (newest(bench, dead).status, newest(bench, dead).moved) == (MoveStatus.COMPLETED, 2)
    assert await bench.bodies(orders) == ["one", "two"]
    assert (await bench.stored(dead), (await bench.counts(dead)).ready) == ([], 0)


async def test_failed_move_hides_nothing_while_it_waits() -> None:
    bench = await make_bench()
    _, dead = await one_pair(bench, "one")
    handle = await move_tasks.start(bench.engine, dead.arn, "", 0)
    bench.store.fail("move", StoreUnavailable("disk full"))

    with pytest.raises(StoreUnavailable):
        await step(bench.engine, handle, no_pause)

    (delivery,) = await bench.receive(dead)
    assert delivery.received.receive_count == 1


@pytest.mark.parametrize("is_done", [True, False])
@pytest.mark.parametrize("suffix", ["", ".fifo"])
async def test_move_with_a_lost_answer_is_made_once(is_done: bool, suffix: str) -> None:
    bench = await make_bench()
    orders, dead = await one_pair(bench, "one", "two", suffix=suffix)
    await move_tasks.start(bench.engine, dead.arn, "", 0)
    bench.store.fail("move", OutcomeUnknown("lost answer"), is_done=is_done, times=2)

    await carry_out(bench)

    assert await bench.bodies(orders) == ["one", "two"]
    assert len(await bench.stored(orders)) == 2
    assert newest(bench, dead).moved == 2


@pytest.mark.parametrize("call", ["take", "remove", "put"])
async def test_cache_that_fails_delays_the_task_only(call: str) -> None:
    bench = await make_bench()
    orders, dead = await one_pair(bench, "one", "two")
    await move_tasks.start(bench.engine, dead.arn, "", 0)
    bench.cache.fail(call, CacheUnavailable("down"), times=3)

    await carry_out(bench)

    assert await bench.bodies(orders) == ["one", "two"]
    assert (await bench.counts(dead)).ready == 0


async def test_bug_does_not_end_the_runner() -> None:
    bench = await make_bench()
    orders, dead = await one_pair(bench, "one")
    await move_tasks.start(bench.engine, dead.arn, "", 0)
    bench.cache.fail("take", ZeroDivisionError("a bug"), times=2)

    await carry_out(bench)

    assert await bench.bodies(orders) == ["one"]


async def deleted_meanwhile(bench: Bench) -> tuple[list[str], list[str]]:
    """Deletes a message between its lease and its move. Returns what is then ready in the target and stored in the
    source."""
    orders, dead = await one_pair(bench, "deleted", "moved")
    consumers = await bench.receive(dead, 1, visibility_ms=1_000)
    bench.clock.advance_ms(1_000)
    await bench.cache.reveal(shard_of(dead), dead.settings.retention_ms, 10)
    await move_tasks.start(bench.engine, dead.arn, "", 0)
    take = bench.cache.take

    async def take_and_delete(shard: object, request: TakeRequest) -> object:
        taken = await take(shard, request)  # type: ignore[arg-type]
        if request.visibility_ms == LEASE_MS and taken.received:
            await delete.delete(bench.engine, dead, consumers[0].handle)
        return taken

    bench.cache.take = take_and_delete  # type: ignore[method-assign,assignment]
    await carry_out(bench)
    bench.cache.take = take  # type: ignore[method-assign]
    return await bench.bodies(orders), [message.body for message in await bench.stored(dead)]


@pytest.mark.parametrize("body_budget_bytes", [0, 1_000_000])
async def test_delete_beats_a_move(body_budget_bytes: int) -> None:
    bench = await make_bench(body_budget_bytes=body_budget_bytes)

    assert await deleted_meanwhile(bench) == (["moved"], [])


async def test_restart_goes_on_and_moves_nothing_twice() -> None:
    bench = await make_bench()
    orders, dead = await one_pair(bench, *map(str, range(10)))
    handle = await move_tasks.start(bench.engine, dead.arn, "", 4)
    for _ in range(3):
        await step(bench.engine, handle, no_pause)

    bench = await bench.restart()
    await carry_out(bench)

    assert sorted(await bench.bodies(orders)) == [str(number) for number in range(10)]
    assert len(await bench.stored(orders)) == 10
    task = newest(bench, dead)
    assert (task.handle, task.status, task.moved) == (handle, MoveStatus.COMPLETED, 10)


async def test_restart_finishes_a_cancel() -> None:
    bench = await make_bench()
    orders, dead = await one_pair(bench, "one")
    await move_tasks.cancel(bench.engine, await move_tasks.start(bench.engine, dead.arn, "", 0))

    bench = await bench.restart()
    await carry_out(bench)

    assert newest(bench, dead).status is MoveStatus.CANCELLED
    assert await bench.bodies(orders) == []


async def test_stopping_runner_finishes_its_step() -> None:
    bench = await make_bench()
    orders, dead = await one_pair(bench, "one")
    await move_tasks.start(bench.engine, dead.arn, "", 0)
    move, has_moved = bench.store.move, asyncio.Event()

    async def move_slowly(source: Queue, target: Queue, moves: Sequence[Move]) -> list[Message]:
        arrived = await move(source, target, moves)
        has_moved.set()
        await asyncio.sleep(0)
        return arrived

    bench.store.move = move_slowly  # type: ignore[method-assign]
    bench.cache.slow("remove", "put")
    async with running(bench):
        await has_moved.wait()

    assert (await bench.counts(dead)).in_flight == 0
    assert await bench.bodies(orders) == ["one"]
