"""Executes move tasks concurrently, one batch per step, until each has ended.

A task moves only as many messages as were ready when it began, so messages that fail again and come back do not go
round in circles. Delayed and in-flight messages stay. A task resumed after a restart takes what is still there, so it
moves nothing twice; one that was left by a node that died waits for what that one had taken.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import TypeVar

import msgspec
import structlog

from cqs import limits
from cqs.cache.interface import Residency, TakeRequest
from cqs.errors import CacheUnavailable, CqsError
from cqs.queue import Queue
from cqs.service import expiry, move_news, residency, revisibility
from cqs.service.engine import Engine, shard_of
from cqs.service.move_batch import NO_QUEUE, move_batch, remove_moved
from cqs.service.move_board import ACTIVE
from cqs.service.retry import RETRY_MIN_MS, Pause, insist, longer, pause_ms
from cqs.store.interface import MoveStatus, MoveTask

BATCH_MAX = 100
LEASE_MS = 60_000
"""How long taken messages stay hidden if a step never finishes; far longer than a step takes."""
HELD_LOOK_MS = 1_000
"""How often a runner looks again for messages that a mover that died has taken."""
STEPS_A_SECOND = 4
"""A rate is split into this many batches, so that it is even and a cancel takes effect soon."""
SAVE_EVERY = 1_000
"""Messages between two saves of the progress if the task has no rate."""
GRACE_S = 2.0
"""How long a stopping runner may take to finish its current step."""
TOO_LONG = "MessageMoveTaskTimedOut"
_UNBOUNDED = 1 << 31

_T = TypeVar("_T")
_log = structlog.get_logger("cqs.move_tasks")


async def run(engine: Engine, pause: Pause = pause_ms) -> None:
    """Runs for ever and, while this node leads, executes every active task, including those left by another node.
    Survives an unavailable store or cache. When cancelled, it lets the steps in progress finish."""
    await insist(pause, "load_move_tasks", lambda: move_news.read_all(engine))
    carried: set[str] = set()
    async with asyncio.TaskGroup() as group:
        while True:
            tasks = engine.moves.active() if engine.cluster.leadership.is_held else []
            for handle in [task.handle for task in tasks if task.handle not in carried]:
                carried.add(handle)
                group.create_task(_carry_out(engine, handle, pause, carried))
            await engine.moves.wait()


async def _carry_out(engine: Engine, handle: str, pause: Pause, carried: set[str]) -> None:
    retry_ms, is_begun, held_until_ms = RETRY_MIN_MS, engine.cluster.is_alone, 0
    try:
        while engine.cluster.leadership.is_held:
            try:
                if not is_begun:
                    held_until_ms = await _begin(engine, handle)
                    is_begun = True
                wait_ms = await _to_its_end(step(engine, handle, pause, held_until_ms))
                retry_ms = RETRY_MIN_MS
            except Exception as error:
                _log.warning("move_task_step_failed", reason=str(error), exc_info=not isinstance(error, CqsError))
                wait_ms, retry_ms = retry_ms, longer(retry_ms)
            if wait_ms is None:
                return
            await pause(wait_ms)
    finally:
        carried.discard(handle)


async def _begin(engine: Engine, handle: str) -> int:
    """Cleans up after another node that may have executed the task until it died. Returns until when that one may still
    hold messages that it has not moved (ms). Ending a task needs no cache."""
    task = engine.moves.get(handle)
    if task is None or task.status is not MoveStatus.RUNNING:
        return 0
    source = _source(engine, task)
    if source is None:
        return 0
    return min(await remove_moved(engine, source), engine.clock.now_ms() + LEASE_MS)


async def step(engine: Engine, handle: str, pause: Pause, held_until_ms: int = 0) -> int | None:
    """Moves one batch. Returns how long to wait before the next step (ms), or None if the task has ended. With nothing
    ready it ends, but not before `held_until_ms`. Raises CqsError if the store or cache failed; the next step may
    succeed."""
    task = engine.moves.get(handle)
    if task is None or task.status not in ACTIVE:
        return None
    began_ms = engine.clock.now_ms()
    source = _source(engine, task)
    status, failure = _status(engine, task, source, began_ms)
    if status is MoveStatus.RUNNING and source is not None:
        status, failure = await _move_some(engine, source, task, pause, held_until_ms)
    after = engine.moves.get(handle)
    assert after is not None, "an active task stays on the board"
    if status is not MoveStatus.RUNNING:
        await _end(engine, after, pause, status, failure)
        return None
    if after.moved // SAVE_EVERY > task.moved // SAVE_EVERY or (task.rate_max and after.moved > task.moved):
        await engine.store.save_move_task(after)
    due_ms = began_ms + (after.moved - task.moved) * 1000 // task.rate_max if task.rate_max else began_ms
    return max(0, due_ms - engine.clock.now_ms())


def _source(engine: Engine, task: MoveTask) -> Queue | None:
    """None when the queue is gone, even if there is a new one of its name."""
    source = engine.registry.get(task.source)
    return source if source is None or task.source_uid in (0, source.uid) else None


def _status(engine: Engine, task: MoveTask, source: Queue | None, now_ms: int) -> tuple[MoveStatus, str]:
    """RUNNING, or how and why the task ends instead of moving another batch."""
    if task.status is MoveStatus.CANCELLING:
        return MoveStatus.CANCELLED, ""
    if source is None or (task.target_arn and engine.registry.of_arn(task.target_arn) is None):
        return MoveStatus.FAILED, NO_QUEUE
    if task.moved >= task.to_move:
        return MoveStatus.COMPLETED, ""
    if now_ms - task.started_ms > limits.MOVE_TASK_MS_MAX:
        return MoveStatus.FAILED, TOO_LONG
    return MoveStatus.RUNNING, ""


async def _move_some(
    engine: Engine, source: Queue, task: MoveTask, pause: Pause, held_until_ms: int
) -> tuple[MoveStatus, str]:
    """Takes and moves one batch. Returns RUNNING, or how and why the task ends after it."""
    evenly = max(1, task.rate_max // STEPS_A_SECOND) if task.rate_max else BATCH_MAX
    request = TakeRequest(
        count_max=min(BATCH_MAX, evenly, task.to_move - task.moved),
        visibility_ms=LEASE_MS,
        retention_ms=source.settings.retention_ms,
        in_flight_max=_UNBOUNDED,
    )
    taken = await engine.cache.take(shard_of(source), request)
    if taken.residency is not Residency.READY:
        residency.ensure(engine, source)
        raise CacheUnavailable(f"{source.name} is being filled")
    expiry.start(engine, source, taken.expired)
    if not taken.received and not taken.expired:
        if engine.clock.now_ms() >= held_until_ms:
            return MoveStatus.COMPLETED, ""
        await pause(HELD_LOOK_MS)
        await revisibility.reveal(engine, shard_of(source))
    failure = await move_batch(engine, source, task, taken.received, pause)
    return (MoveStatus.FAILED, failure) if failure else (MoveStatus.RUNNING, "")


async def _end(engine: Engine, task: MoveTask, pause: Pause, status: MoveStatus, failure: str) -> None:
    """Updates the board first: a later cancel finds an ended task and can't overwrite what is being saved."""
    ended = msgspec.structs.replace(task, status=status, failure=failure)
    engine.moves.put(ended)
    await insist(pause, "save_move_task", lambda: engine.store.save_move_task(ended))
    _log.info("move_task_ended", source=task.source.name, status=status, moved=task.moved, reason=failure)


async def _to_its_end(work: Coroutine[object, object, _T]) -> _T:
    """Awaits `work`; a cancellation gives it up to GRACE_S to finish."""
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task], timeout=GRACE_S)
        task.cancel()
        raise
