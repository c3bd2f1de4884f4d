"""The journal records work interrupted by a stopping server or a failing store as doubtful, and finished work as done.
Otherwise an audit would report messages as unexpected, lost, or visible too early."""

from __future__ import annotations

import asyncio

import pytest

from cqs.errors import OutcomeUnknown, StoreUnavailable
from cqs.service import delete, move_tasks, visibility
from cqs.service.move_runner import step
from tests.engine import make_bench
from tests.unit.dead_letters import one_pair

HOUR_MS = 3_600_000


async def no_pause(_: int) -> None:
    pass


@pytest.mark.parametrize("is_done", [True, False])
@pytest.mark.parametrize("name", ["orders", "orders.fifo"])
async def test_send_that_is_broken_off_is_in_doubt(name: str, is_done: bool) -> None:
    bench = await make_bench()
    queue = await bench.create(name)
    bench.store.fail("append", asyncio.CancelledError(), is_done=is_done)

    with pytest.raises(asyncio.CancelledError):
        await bench.send(queue, "one")

    assert bench.witness.names() == ["doubtful"]


@pytest.mark.parametrize("is_done", [True, False])
async def test_delete_that_is_broken_off_is_in_doubt(is_done: bool) -> None:
    bench = await make_bench()
    queue = await bench.create("orders")
    await bench.send(queue, "one")
    (one,) = await bench.receive(queue)
    bench.store.fail("delete", asyncio.CancelledError(), is_done=is_done)

    with pytest.raises(asyncio.CancelledError):
        await delete.delete(bench.engine, queue, one.handle)

    assert bench.witness.of("doubtful") == [("orders", (one.message.address,))]


@pytest.mark.parametrize(("name", "is_told"), [("orders", False), ("orders.fifo", True)])
async def test_delete_that_frees_a_group_is_told_with_when_it_began(name: str, is_told: bool) -> None:
    bench = await make_bench()
    queue = await bench.create(name)
    await bench.send(queue, "one")
    (one,) = await bench.receive(queue)
    asked_ms, remove = bench.clock.now_ms(), bench.cache.remove

    async def slow_remove(*arguments: object) -> None:
        bench.clock.advance_ms(5)
        await remove(*arguments)  # type: ignore[arg-type]

    bench.cache.remove = slow_remove  # type: ignore[method-assign, assignment]
    await delete.delete(bench.engine, queue, one.handle)

    assert bench.witness.begins == [asked_ms if is_told else 0]


async def test_delete_that_the_store_has_done_is_told() -> None:
    bench = await make_bench()
    queue = await bench.create("orders")
    await bench.send(queue, "one")
    (one,) = await bench.receive(queue)
    bench.cache.fail("remove", asyncio.CancelledError())

    with pytest.raises(asyncio.CancelledError):
        await delete.delete(bench.engine, queue, one.handle)

    assert bench.witness.of("deleted") == [("orders", (one.message.address,))]


@pytest.mark.parametrize("is_done", [True, False])
async def test_move_that_is_broken_off_is_in_doubt_in_both_queues(is_done: bool) -> None:
    bench = await make_bench()
    orders, dead = await one_pair(bench, "one")
    handle = await move_tasks.start(bench.engine, dead.arn, orders.arn, 0)
    bench.store.fail("move", asyncio.CancelledError(), is_done=is_done)

    with pytest.raises(asyncio.CancelledError):
        await step(bench.engine, handle, no_pause)

    assert [queue for queue, _ in bench.witness.of("doubtful")] == [dead.name, orders.name]


async def test_move_that_the_store_has_done_is_told() -> None:
    bench = await make_bench()
    orders, dead = await one_pair(bench, "one")
    handle = await move_tasks.start(bench.engine, dead.arn, orders.arn, 0)
    bench.cache.fail("remove", asyncio.CancelledError())

    with pytest.raises(asyncio.CancelledError):
        await step(bench.engine, handle, no_pause)

    assert [(source, target) for source, target, _ in bench.witness.moves][-1] == (dead.name, orders.name)


@pytest.mark.parametrize("error", [StoreUnavailable("gone"), OutcomeUnknown("no answer"), asyncio.CancelledError()])
@pytest.mark.parametrize("timeout_ms", [0, 5_000, HOUR_MS])
async def test_change_that_is_not_written_down_may_show_the_message_at_once(
    error: BaseException, timeout_ms: int
) -> None:
    bench = await make_bench()
    queue = await bench.create("orders", visibility_ms=HOUR_MS)
    await bench.send(queue, "one")
    (one,) = await bench.receive(queue)
    bench.store.fail("lease", error)

    with pytest.raises(type(error)):
        await visibility.change(bench.engine, queue, one.handle, timeout_ms)

    assert [(receipt.receive_number, until_ms) for receipt, until_ms in bench.witness.hides] == [
        (one.received.receive_number, bench.clock.now_ms())
    ]
