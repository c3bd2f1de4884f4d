"""A clock that was ahead is set back: messages sent before are not delayed longer than their queue says, and sends are
not taken for repeats for longer than five minutes. Move tasks are still in the order in which they were started."""

from __future__ import annotations

import pytest

from cqs import limits
from cqs.service import move_tasks
from cqs.store.interface import MOVE_TASKS_KEPT
from tests.engine import make_bench
from tests.unit.dead_letters import carry_out, newest, one_pair

HOUR_MS = 3_600_000


@pytest.mark.parametrize("name", ["orders", "orders.fifo"])
async def test_what_was_sent_without_a_delay_is_ready_after_a_start(name: str) -> None:
    bench = await make_bench()
    queue = await bench.create(name)
    await bench.send(queue, "one")
    bench.clock.advance_ms(-HOUR_MS)

    bench = await bench.restart()

    assert await bench.bodies(queue) == ["one"]


async def test_ids_used_before_swallow_no_sends_for_longer_than_the_window() -> None:
    bench = await make_bench()
    queue = await bench.create("orders.fifo", is_content_dedup=True)
    await bench.send_same(queue, "a heartbeat")
    bench.clock.advance_ms(-HOUR_MS)

    await bench.send_same(queue, "a heartbeat")
    bench.clock.advance_ms(limits.DEDUP_WINDOW_MS)
    await bench.send_same(queue, "a heartbeat")

    assert await bench.bodies(queue) == ["a heartbeat"] * 2


async def test_a_move_task_is_newer_than_those_from_before_and_survives_a_restart() -> None:
    bench = await make_bench()
    orders, dead = await one_pair(bench)
    for _ in range(MOVE_TASKS_KEPT):
        await move_tasks.start(bench.engine, dead.arn, orders.arn, 0)
        await carry_out(bench)
    await bench.send(dead, "one")
    bench.clock.advance_ms(-HOUR_MS)

    handle = await move_tasks.start(bench.engine, dead.arn, orders.arn, 0)
    bench = await bench.restart()
    await carry_out(bench)

    assert newest(bench, dead).handle == handle
    assert await bench.bodies(orders) == ["one"]
