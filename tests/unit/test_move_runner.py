"""Running move tasks: which messages arrive where, and in what form."""

from __future__ import annotations

import asyncio

import pytest

from cqs import ids
from cqs.message import Attribute
from cqs.service import move_tasks, queues
from cqs.service.engine import shard_of
from cqs.service.receive import ReceiveRequest, receive
from cqs.service.send import Draft, send
from cqs.store.interface import MoveStatus
from tests.engine import make_bench, until
from tests.unit.dead_letters import bury, carry_out, is_active, newest, one_pair, running, source_of


async def test_messages_go_back_to_their_sources() -> None:
    bench = await make_bench()
    orders, dead = await one_pair(bench, "o1", "o2")
    bills = await source_of(bench, "bills", dead)
    await bury(bench, bills, "b1")

    await move_tasks.start(bench.engine, dead.arn, "", 0)
    await carry_out(bench)

    assert await bench.bodies(orders) == ["o1", "o2"]
    assert await bench.bodies(bills) == ["b1"]
    assert await bench.stored(dead) == []
    task = newest(bench, dead)
    assert (task.status, task.moved, task.to_move, task.failure) == (MoveStatus.COMPLETED, 3, 3, "")
    assert await bench.store.move_tasks() == [task]


async def test_messages_go_to_the_target_named() -> None:
    bench = await make_bench()
    _, dead = await one_pair(bench, "one")
    await send(bench.engine, dead, Draft("sent to the dead-letter queue"), "s")
    other = await bench.create("other")

    await move_tasks.start(bench.engine, dead.arn, other.arn, 0)
    await carry_out(bench)

    assert await bench.bodies(other) == ["one", "sent to the dead-letter queue"]


async def test_moved_message_is_a_new_one_with_the_old_content() -> None:
    bench = await make_bench()
    orders, dead = await one_pair(bench)
    kinds = (Attribute("kind", "String", b"x"),)
    await send(bench.engine, orders, Draft("one", kinds, trace_header="Root=1", group="tenant"), "sender")
    await bury(bench, orders)
    (before,) = await bench.stored(dead)
    bench.clock.advance_ms(5_000)
    started_ms = bench.clock.now_ms()

    await move_tasks.start(bench.engine, dead.arn, "", 0)
    await carry_out(bench)
    (delivery,) = await bench.receive(orders)

    after, received = delivery.message, delivery.received
    assert after.message_id == ids.text_of(after.address) != before.message_id
    assert (after.body, after.attributes, after.trace_header, after.group) == ("one", kinds, "Root=1", "tenant")
    assert after.sender_id == "sender"
    assert after.sent_ms == started_ms
    assert after.source_arn is None
    assert (received.receive_count, received.sent_ms) == (1, started_ms)


async def test_fifo_groups_keep_their_order() -> None:
    bench = await make_bench()
    orders, dead = await one_pair(bench, suffix=".fifo")
    for number in range(3):
        await bury(bench, orders, f"a{number}", group="a")
        await bury(bench, orders, f"b{number}", group="b")
    await bench.send(orders, "a3", group="a")

    await move_tasks.start(bench.engine, dead.arn, "", 0)
    await carry_out(bench)
    bodies = await bench.bodies(orders)

    assert [body for body in bodies if body[0] == "a"] == ["a3", "a0", "a1", "a2"]
    assert [body for body in bodies if body[0] == "b"] == ["b0", "b1", "b2"]


async def test_delayed_and_in_flight_messages_stay() -> None:
    bench = await make_bench()
    orders, dead = await one_pair(bench, "ready")
    await bury(bench, orders, "in flight")
    (held,) = [one for one in await bench.receive(dead, 2) if one.message.body == "in flight"]
    await bench.cache.hide(shard_of(dead), held.received.ticket, bench.clock.now_ms() + 600_000)
    await send(bench.engine, dead, Draft("delayed", delay_ms=600_000), "s")
    bench.clock.advance_ms(30_000)
    await bench.cache.reveal(shard_of(dead), dead.settings.retention_ms, 10)

    await move_tasks.start(bench.engine, dead.arn, "", 0)
    await carry_out(bench)

    assert await bench.bodies(orders) == ["ready"]
    assert sorted(message.body for message in await bench.stored(dead)) == ["delayed", "in flight"]
    assert newest(bench, dead).moved == 1


async def test_what_comes_back_while_the_task_runs_stays() -> None:
    bench = await make_bench()
    orders, dead = await one_pair(bench, "one", "two")
    await move_tasks.start(bench.engine, dead.arn, "", 0)
    await bury(bench, orders, "three")

    await carry_out(bench)

    assert await bench.bodies(orders) == ["one", "two"]
    assert [message.body for message in await bench.stored(dead)] == ["three"]


async def test_bodies_beyond_the_memory_budget_are_moved_too() -> None:
    bench = await make_bench(body_budget_bytes=0)
    orders, dead = await one_pair(bench, "one", "two")

    await move_tasks.start(bench.engine, dead.arn, "", 0)
    await carry_out(bench)

    assert await bench.bodies(orders) == ["one", "two"]


async def test_expired_messages_are_deleted_and_not_moved() -> None:
    bench = await make_bench()
    orders, dead = await one_pair(bench, "old")
    bench.clock.advance_ms(dead.settings.retention_ms - 1)
    await bury(bench, orders, "new")

    await move_tasks.start(bench.engine, dead.arn, "", 0)
    await carry_out(bench)
    await bench.engine.background.drain()

    assert await bench.bodies(orders) == ["new"]
    assert await bench.stored(dead) == []
    assert len(bench.witness.of("expired")) == 1


async def test_move_wakes_a_waiting_receive() -> None:
    bench = await make_bench()
    orders, dead = await one_pair(bench, "one")
    poll = asyncio.create_task(receive(bench.engine, orders, ReceiveRequest(wait_ms=20_000), lambda: True))
    await until(lambda: bench.engine.waiters.count(orders.uid) == 1)

    await move_tasks.start(bench.engine, dead.arn, "", 0)
    await carry_out(bench)

    assert [delivery.message.body for delivery in await poll] == ["one"]


async def test_target_delay_counts_from_the_move() -> None:
    bench = await make_bench()
    orders, dead = await one_pair(bench, "one")
    orders = await queues.change_settings(bench.engine, orders, {"delay_ms": 60_000})

    await move_tasks.start(bench.engine, dead.arn, "", 0)
    await carry_out(bench)

    assert (await bench.counts(orders)).delayed == 1


@pytest.mark.parametrize(("rate", "least_ms"), [(1, 10_000), (4, 2_500), (100, 100), (500, 20)])
async def test_rate_is_kept(rate: int, least_ms: int) -> None:
    bench = await make_bench()
    orders, dead = await one_pair(bench, *map(str, range(10)))
    started_ms = bench.clock.now_ms()

    await move_tasks.start(bench.engine, dead.arn, "", rate)
    await carry_out(bench)

    assert bench.clock.now_ms() - started_ms == least_ms
    assert (await bench.counts(orders)).ready == 10


async def test_running_runner_finds_new_tasks_and_cancels_them() -> None:
    bench = await make_bench()
    orders, dead = await one_pair(bench, *map(str, range(10)))
    async with running(bench):
        await until(lambda: bench.engine.moves.is_loaded)
        handle = await move_tasks.start(bench.engine, dead.arn, "", 1)
        await until(lambda: newest(bench, dead).moved == 3)

        assert await move_tasks.cancel(bench.engine, handle) == 3
        await until(lambda: not is_active(bench, handle))

    assert newest(bench, dead).status is MoveStatus.CANCELLED
    assert (await bench.counts(orders)).ready == 3
    assert (await bench.counts(dead)).ready == 7


async def test_tasks_run_side_by_side() -> None:
    bench = await make_bench()
    slow_orders, slow_dead = await one_pair(bench, "s1", "s2", "s3")
    dead = await bench.create("dead-2")
    orders = await source_of(bench, "orders-2", dead)
    await bury(bench, orders, "one")

    await move_tasks.start(bench.engine, slow_dead.arn, "", 1)
    await move_tasks.start(bench.engine, dead.arn, "", 0)
    async with running(bench):
        await until(lambda: newest(bench, dead).status is MoveStatus.COMPLETED)
        assert newest(bench, slow_dead).status is MoveStatus.RUNNING

    assert (await bench.counts(slow_orders)).ready < 3
