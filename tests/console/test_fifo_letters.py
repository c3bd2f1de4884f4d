"""Redriving dead letters of a FIFO queue in the console."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from admin.jobs import Job
from cqs.errors import StoreUnavailable
from cqs.queue import Queue
from cqs.store.interface import Claim, Wanted
from tests.console.desk import Desk
from tests.engine import ACCOUNT, until
from tests.unit.dead_letters import bury, one_pair


@pytest.fixture
async def orders(desk: Desk) -> Queue:
    """Its dead letters are a1 and a2 of the group a, and b1 and b2 of b."""
    queue, _ = await one_pair(desk.bench, suffix=".fifo")
    for group in "ab":
        await bury(desk.bench, queue, f"{group}1", f"{group}2", group=group)
    return queue


async def redriven(desk: Desk) -> Job:
    await desk.post(f"/q/{ACCOUNT}/dead.fifo/redrive", {"which": "matching"})
    job = desk.console.jobs.of(ACCOUNT)[0]
    await until(lambda: not job.is_running)
    return job


async def test_they_go_in_the_order_of_their_groups_though_the_store_takes_different_times(
    desk: Desk, orders: Queue
) -> None:
    claim, turns = desk.bench.store.claim, iter((9, 0, 9, 0))

    async def uneven(queue: Queue, wanted: Sequence[Wanted], window_ms: int) -> list[Claim]:
        for _ in range(next(turns)):
            await asyncio.sleep(0)
        return await claim(queue, wanted, window_ms)

    desk.bench.store.claim = uneven  # type: ignore[method-assign]
    job = await redriven(desk)

    assert (job.done, job.failed) == (4, 0)
    assert sorted(await desk.bench.bodies(orders), key=lambda body: body[0]) == ["a1", "a2", "b1", "b2"]


async def test_what_is_behind_one_that_can_not_go_stays(desk: Desk, orders: Queue) -> None:
    desk.bench.store.fail("append", StoreUnavailable("full"))

    job = await redriven(desk)

    assert (job.done, job.failed, job.problem) == (2, 2, "full")
    assert await desk.bench.bodies(orders) == ["b1", "b2"]
    (dead,) = [queue for queue in desk.bench.engine.registry if queue.name == "dead.fifo"]
    assert await desk.bench.bodies(dead) == ["a1", "a2"]
