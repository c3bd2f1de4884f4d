"""Helpers for tests of move tasks: queues with dead letters, and a runner whose pauses advance the clock."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

from cqs.queue import Queue, Redrive
from cqs.service import move_tasks
from cqs.service.engine import shard_of
from cqs.service.move_board import ACTIVE
from cqs.store.interface import MoveTask
from tests.cluster import Town
from tests.engine import Bench, until


async def source_of(bench: Bench, name: str, dead: Queue) -> Queue:
    """Creates a queue whose messages move to `dead` when they are received a second time."""
    return await bench.create(name, redrive=Redrive(dead.arn, 1))


async def bury(bench: Bench, queue: Queue, *bodies: str, group: str | None = None) -> None:
    """Sends the bodies and receives them too often, which moves them to the dead-letter queue."""
    await bench.send(queue, *bodies, group=group)
    for _ in range(2):
        await bench.receive(queue, visibility_ms=1_000)
        bench.clock.advance_ms(1_000)
        await bench.cache.reveal(shard_of(queue), queue.settings.retention_ms, 100)


async def one_pair(bench: Bench, *bodies: str, suffix: str = "") -> tuple[Queue, Queue]:
    """A queue `orders` and its dead-letter queue `dead`, which has the bodies."""
    dead = await bench.create(f"dead{suffix}")
    orders = await source_of(bench, f"orders{suffix}", dead)
    if bodies:
        await bury(bench, orders, *bodies)
    return orders, dead


async def with_dead_letters(*bodies: str) -> tuple[Town, Bench, Bench, Queue, Queue]:
    """Two nodes, of which a is the leader, and a queue whose dead-letter queue has the bodies."""
    town = Town()
    a, b = await town.node("a"), await town.node("b")
    orders, dead = await one_pair(a, *bodies)
    await town.beat()
    return town, a, b, orders, dead


@contextlib.asynccontextmanager
async def running(bench: Bench) -> AsyncIterator[None]:
    """Runs the runner, and stops it at the end."""

    async def pause(duration_ms: int) -> None:
        bench.clock.advance_ms(duration_ms)
        await asyncio.sleep(0)

    runner = asyncio.create_task(move_tasks.run(bench.engine, pause))
    try:
        yield
    finally:
        runner.cancel()
        await asyncio.wait([runner])
        assert runner.cancelled()


async def carry_out(bench: Bench) -> None:
    """Runs until no task is active."""
    async with running(bench):
        await until(lambda: bench.engine.moves.is_loaded and not bench.engine.moves.active())


def newest(bench: Bench, source: Queue) -> MoveTask:
    return move_tasks.tasks_of(bench.engine, source.arn, 1)[0]


def is_active(bench: Bench, handle: str) -> bool:
    task = bench.engine.moves.get(handle)
    return task is not None and task.status in ACTIVE
