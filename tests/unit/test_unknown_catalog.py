"""A queue or a move task whose write had an unknown outcome: if it exists, it takes effect at once, not only after the
next start."""

from __future__ import annotations

import pytest

from cqs.errors import OutcomeUnknown, StoreUnavailable
from cqs.queue import QueueName
from cqs.service import move_tasks, queues
from tests.engine import ACCOUNT, make_bench, until
from tests.unit.dead_letters import newest, one_pair, running

ORDERS = QueueName(ACCOUNT, "orders")
LOST = OutcomeUnknown("lost answer")


async def test_create_that_the_store_has_made_succeeds() -> None:
    bench = await make_bench()
    bench.store.fail("create", LOST, is_done=True)

    queue = await queues.create(bench.engine, ORDERS, {}, {})

    assert await bench.store.queues() == [queue]
    assert bench.engine.registry.find(ORDERS) == queue
    await bench.send(queue, "one")
    assert await bench.bodies(queue) == ["one"]


async def test_create_that_the_store_has_not_made_can_be_repeated() -> None:
    bench = await make_bench()
    bench.store.fail("create", LOST)

    with pytest.raises(OutcomeUnknown):
        await queues.create(bench.engine, ORDERS, {}, {})

    assert len(bench.engine.registry) == 0
    assert (await queues.create(bench.engine, ORDERS, {}, {})).name == "orders"


@pytest.mark.parametrize("is_read", [True, False])
async def test_task_that_the_store_has_is_carried_out_now(is_read: bool) -> None:
    bench = await make_bench()
    orders, dead = await one_pair(bench, "one")
    assert await move_tasks.listed(bench.engine, dead.arn, 10) == []
    bench.store.fail("save_move_task", LOST, is_done=True)
    if is_read:
        await move_tasks.start(bench.engine, dead.arn, orders.arn, 0)
    else:
        bench.store.fail("move_tasks", StoreUnavailable("no answer"), after=1)
        with pytest.raises(OutcomeUnknown):
            await move_tasks.start(bench.engine, dead.arn, orders.arn, 0)

    assert len(await move_tasks.listed(bench.engine, dead.arn, 10)) == 1
    async with running(bench):
        await until(lambda: newest(bench, dead).moved == 1)
    assert await bench.bodies(orders) == ["one"]


async def test_task_that_the_store_has_not_is_none() -> None:
    bench = await make_bench()
    orders, dead = await one_pair(bench, "one")
    bench.store.fail("save_move_task", LOST)

    with pytest.raises(OutcomeUnknown):
        await move_tasks.start(bench.engine, dead.arn, orders.arn, 0)

    assert await move_tasks.listed(bench.engine, dead.arn, 10) == []
    await move_tasks.start(bench.engine, dead.arn, orders.arn, 0)
