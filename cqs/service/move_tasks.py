"""Message move tasks: move the messages of a dead-letter queue back or elsewhere, in the background.

              start                     nothing ready, or as many moved as were there
                └──► RUNNING ─────────────────────────────────────────────► COMPLETED
                        │  └────── a queue to move to is gone ────────────► FAILED
                 cancel ▼
                    CANCELLING ────── the current batch is done ──────────► CANCELLED

Tasks are saved, so that they resume after a restart; `cqs.service.move_runner` executes them.
"""

from __future__ import annotations

import binascii
import contextlib
import sys
import uuid
from base64 import b64decode, b64encode
from collections.abc import AsyncIterator

import msgspec

from cqs import limits
from cqs.cache.interface import Residency
from cqs.errors import (
    CqsError,
    InvalidParameterValue,
    OutcomeUnknown,
    ResourceNotFound,
    ServiceUnavailable,
    StoreUnavailable,
)
from cqs.queue import Queue, name_of_arn
from cqs.service import counting, lookup, move_news, residency
from cqs.service.engine import Engine, shard_of
from cqs.service.move_board import ACTIVE, RUNNING_ALREADY
from cqs.service.move_runner import run
from cqs.store.interface import MoveStatus, MoveTask

START_MS = 10_000
"""Far longer than starting a task takes."""
_UUID_VERSION = 4


class _Handle(msgspec.Struct, frozen=True, rename="camel"):
    """The content of a task handle, base64 of JSON (as on AWS). Opaque to clients."""

    task_id: str
    source_arn: str


def needed(engine: Engine, source: Queue, target_arn: str) -> list[tuple[str, Queue]]:
    """The permissions that a caller needs for a task, and on which queues, as on AWS: those for moving the messages by
    hand. Without a target, messages go back where they came from; the queues that have `source` as their dead-letter
    queue stand for those."""
    taking = [("ReceiveMessage", source), ("DeleteMessage", source)]
    named = engine.registry.of_arn(target_arn)
    targets = [named] if target_arn else engine.registry.sources(source, "", sys.maxsize)
    return taking + [("SendMessage", one) for one in targets if one is not None and one.account == source.account]


async def start(engine: Engine, source_arn: str, target_arn: str, rate_max: int) -> str:
    """Starts a task and returns its handle, durably. `target_arn` "": each message returns to the queue it came from.
    `rate_max`: messages per second, 0 = unlimited. Raises ResourceNotFound if a queue does not exist,
    InvalidParameterValue (a bad ARN or rate, no dead-letter queue, a task is already running), OverLimit,
    ServiceUnavailable while the cache is being filled, StoreUnavailable, OutcomeUnknown."""
    source = _source(engine, source_arn)
    if not engine.registry.sources(source, "", 1):
        raise InvalidParameterValue("Source queue must be configured as a Dead Letter Queue.")
    if target_arn:
        await lookup.meet(engine, target_arn)
        _check_target(engine, source, target_arn)
    if not 0 <= rate_max <= limits.MOVE_RATE_MAX:
        reason = f"Must be between 1 and {limits.MOVE_RATE_MAX}, if provided."
        raise InvalidParameterValue.of(rate_max, "MaxNumberOfMessagesPerSecond", reason)
    await _fill(engine, source)
    task = MoveTask(
        handle=_write_handle(engine, source_arn),
        source=source.key,
        source_arn=source_arn,
        source_uid=source.uid,
        target_arn=target_arn,
        rate_max=rate_max,
        to_move=(await counting.counts(engine, source)).ready,
        started_ms=engine.clock.now_ms(),
    )
    async with _turn(engine, task):
        await _load(engine)
        with engine.moves.starting(source.key):
            task = _newest(engine, task)
            await _save_new(engine, task)
            engine.moves.put(task)
    await move_news.tell_started(engine, task.handle)
    return task.handle


def _newest(engine: Engine, task: MoveTask) -> MoveTask:
    """The task, started after all others of its source though the clock was set back: only the newest are kept."""
    after_ms = max((other.started_ms + 1 for other in engine.moves.of_source(task.source, 1)), default=0)
    return msgspec.structs.replace(task, started_ms=max(task.started_ms, after_ms))


async def _save_new(engine: Engine, task: MoveTask) -> None:
    """If the store's outcome is unknown, reads the task back: a stored but unknown task would run after the next
    restart, long after its caller had given it up. Raises StoreUnavailable, OutcomeUnknown."""
    try:
        await engine.store.save_move_task(task)
    except OutcomeUnknown:
        engine.moves.is_loaded = False
        with contextlib.suppress(StoreUnavailable):
            await move_news.read_all(engine)
        if engine.moves.get(task.handle) is None:
            raise


async def _fill(engine: Engine, source: Queue) -> None:
    """A task moves as many messages as there are when it begins, so the count must be complete."""
    await residency.fill(engine, source)
    if (await engine.cache.state(shard_of(source))).residency is not Residency.READY:
        raise ServiceUnavailable(f"The messages of {source.name} are still being counted. Try again in a moment.")


@contextlib.asynccontextmanager
async def _turn(engine: Engine, task: MoveTask) -> AsyncIterator[None]:
    """Serializes the starts of a source's tasks across nodes, so that each sees what the previous one saved. Raises
    InvalidParameterValue while another start is in progress."""
    coordination, name = engine.cluster.coordination, f"move task {task.source.account}/{task.source.name}"
    if not await coordination.lead(name, task.handle, START_MS):
        raise InvalidParameterValue(RUNNING_ALREADY)
    try:
        yield
    finally:
        with contextlib.suppress(CqsError):
            await coordination.resign(name, task.handle)


async def cancel(engine: Engine, handle: str) -> int:
    """Returns how many messages the task has moved so far; the current batch may still add to it. Idempotent while the
    task is ending. Raises InvalidParameterValue for an invalid handle, ResourceNotFound if there is no such task or it
    has ended, StoreUnavailable, OutcomeUnknown."""
    _source(engine, source_arn_of(handle))
    await _load(engine)
    task = engine.moves.get(handle)
    if task is None or task.status not in ACTIVE:
        raise ResourceNotFound("Task does not exist.")
    task = msgspec.structs.replace(task, status=MoveStatus.CANCELLING)
    engine.moves.put(task)
    await engine.store.save_move_task(task)
    await move_news.tell_cancelled(engine, handle)
    return task.moved


async def listed(engine: Engine, source_arn: str, limit: int) -> list[MoveTask]:
    """As `tasks_of`, including recent changes by other nodes. Also raises StoreUnavailable."""
    await _load(engine)
    return tasks_of(engine, source_arn, limit)


def tasks_of(engine: Engine, source_arn: str, limit: int) -> list[MoveTask]:
    """The newest tasks of a source queue, newest first, at most ten. Raises ResourceNotFound, InvalidParameterValue."""
    return engine.moves.of_source(_source(engine, source_arn).key, min(limit, limits.MOVE_TASKS_LISTED_MAX))


def source_arn_of(handle: str) -> str:
    """The source queue that a task handle names, for authorization. Raises InvalidParameterValue for an invalid
    handle."""
    try:
        return msgspec.json.decode(b64decode(handle.encode(), validate=True), type=_Handle).source_arn
    except (binascii.Error, UnicodeError, msgspec.DecodeError, RecursionError) as error:
        raise InvalidParameterValue("Value for parameter TaskHandle is invalid.") from error


def _source(engine: Engine, arn: str) -> Queue:
    return _queue(engine, arn, "SourceArn")


def _check_target(engine: Engine, source: Queue, arn: str) -> None:
    named = name_of_arn(arn)
    if named is not None and named.account != source.account:
        raise InvalidParameterValue("The source queue and the destination queue must belong to the same account.")
    target = _queue(engine, arn, "DestinationArn")
    if target.key == source.key:
        raise InvalidParameterValue("Source queue arn and destination queue arn cannot be the same.")
    if target.settings.is_fifo != source.settings.is_fifo:
        raise InvalidParameterValue("The source queue and the destination queue must be of the same type.")


def _queue(engine: Engine, arn: str, parameter: str) -> Queue:
    if name_of_arn(arn) is None:
        raise InvalidParameterValue(
            f"You must use this format to specify the {parameter}: "
            "arn:<partition>:<service>:<region>:<account-id>:<resource-id>"
        )
    queue = engine.registry.of_arn(arn)
    if queue is None or queue.arn != arn:
        raise missing(parameter)
    return queue


def missing(parameter: str) -> ResourceNotFound:
    """The error for an ARN that names no queue, or none that the caller may know about."""
    return ResourceNotFound(f"The resource that you specified for the {parameter} parameter doesn't exist.")


async def _load(engine: Engine) -> None:
    if not engine.moves.is_loaded or not engine.cluster.is_alone:
        await move_news.read_all(engine)


def _write_handle(engine: Engine, source_arn: str) -> str:
    task_id = uuid.UUID(int=engine.rng.getrandbits(128), version=_UUID_VERSION)
    return b64encode(msgspec.json.encode(_Handle(str(task_id), source_arn))).decode()


__all__ = ["cancel", "listed", "needed", "run", "source_arn_of", "start", "tasks_of"]
