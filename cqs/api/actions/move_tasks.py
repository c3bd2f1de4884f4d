"""StartMessageMoveTask, CancelMessageMoveTask, ListMessageMoveTasks."""

from __future__ import annotations

from cqs import limits
from cqs.api.context import Context
from cqs.api.shapes.move_tasks import (
    CancelMessageMoveTaskRequest,
    CancelMessageMoveTaskResult,
    ListMessageMoveTasksRequest,
    ListMessageMoveTasksResult,
    ListMessageMoveTasksResultEntry,
    StartMessageMoveTaskRequest,
    StartMessageMoveTaskResult,
)
from cqs.errors import InvalidParameterValue, QueueDoesNotExist
from cqs.queue import Queue
from cqs.service import lookup, move_tasks
from cqs.store.interface import MoveStatus, MoveTask


async def start_message_move_task(context: Context, request: StartMessageMoveTaskRequest) -> StartMessageMoveTaskResult:
    """Also requires the permissions for what the task does (see `move_tasks.needed`)."""
    source, target_arn = await _authorize(context, request.source_arn), request.destination_arn or ""
    if source is not None:
        await lookup.meet(context.engine, target_arn)
        for permission, queue in move_tasks.needed(context.engine, source, target_arn):
            context.access.authorize(context.caller, permission, queue)
    rate = _within(
        "MaxNumberOfMessagesPerSecond", request.max_number_of_messages_per_second, limits.MOVE_RATE_MAX, absent=0
    )
    handle = await move_tasks.start(context.engine, request.source_arn, target_arn, rate)
    return StartMessageMoveTaskResult(task_handle=handle)


async def cancel_message_move_task(
    context: Context, request: CancelMessageMoveTaskRequest
) -> CancelMessageMoveTaskResult:
    await _authorize(context, move_tasks.source_arn_of(request.task_handle))
    moved = await move_tasks.cancel(context.engine, request.task_handle)
    return CancelMessageMoveTaskResult(approximate_number_of_messages_moved=moved)


async def list_message_move_tasks(context: Context, request: ListMessageMoveTasksRequest) -> ListMessageMoveTasksResult:
    await _authorize(context, request.source_arn)
    count_max = _within("MaxResults", request.max_results, limits.MOVE_TASKS_LISTED_MAX, absent=1)
    tasks = await move_tasks.listed(context.engine, request.source_arn, count_max)
    return ListMessageMoveTasksResult(results=[_entry(task) for task in tasks])


async def _authorize(context: Context, source_arn: str) -> Queue | None:
    """The queue of the ARN. None if the ARN names none; the service refuses that. A queue that the caller may not know
    about is refused in the same way."""
    await lookup.meet(context.engine, source_arn)
    queue = context.engine.registry.of_arn(source_arn)
    if queue is None:
        return None
    try:
        context.access.authorize(context.caller, context.action, queue)
    except QueueDoesNotExist as error:
        raise move_tasks.missing("SourceArn") from error
    return queue


def _within(parameter: str, value: int | None, value_max: int, *, absent: int) -> int:
    if value is None:
        return absent
    if not 1 <= value <= value_max:
        raise InvalidParameterValue.of(value, parameter, f"Must be between 1 and {value_max}, if provided.")
    return value


def _entry(task: MoveTask) -> ListMessageMoveTasksResultEntry:
    return ListMessageMoveTasksResultEntry(
        task_handle=task.handle if task.status is MoveStatus.RUNNING else None,
        status=task.status.value,
        source_arn=task.source_arn,
        destination_arn=task.target_arn or None,
        max_number_of_messages_per_second=task.rate_max or None,
        approximate_number_of_messages_moved=task.moved,
        approximate_number_of_messages_to_move=task.to_move,
        failure_reason=task.failure or None,
        started_timestamp=task.started_ms,
    )
