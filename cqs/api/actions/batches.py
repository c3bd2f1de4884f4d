"""The three batch actions. An error in the list fails the call; an error in an entry fails only that entry."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from cqs.api.actions import parameters
from cqs.api.actions.messages import draft_of, sequence_text
from cqs.api.context import Context
from cqs.api.shapes.batches import (
    BatchResultErrorEntry,
    ChangeMessageVisibilityBatchRequest,
    ChangeMessageVisibilityBatchRequestEntry,
    ChangeMessageVisibilityBatchResult,
    ChangeMessageVisibilityBatchResultEntry,
    DeleteMessageBatchRequest,
    DeleteMessageBatchResult,
    DeleteMessageBatchResultEntry,
    SendMessageBatchRequest,
    SendMessageBatchResult,
    SendMessageBatchResultEntry,
)
from cqs.errors import MissingParameter, SqsError
from cqs.service import delete, send, visibility
from cqs.service.draft_rules import Draft
from cqs.service.send import Sent

_Good = TypeVar("_Good")


async def send_message_batch(context: Context, request: SendMessageBatchRequest) -> SendMessageBatchResult:
    """Raises what fails the whole call; see `cqs.service.send.send_batch` for what fails an entry."""
    queue = await context.queue(request.queue_url)
    parameters.check_entries(request)
    failed: list[BatchResultErrorEntry] = []
    ids: list[str] = []
    drafts: list[Draft] = []
    for entry in request.entries:
        if queue.settings.is_fifo:
            send.check_ids(queue, entry.message_group_id, entry.message_deduplication_id)
        try:
            drafts.append(draft_of(entry))
            ids.append(entry.id)
        except SqsError as error:
            failed.append(parameters.failed_entry(entry.id, error))
    answers = await send.send_batch(context.engine, queue, drafts, context.caller.sender_id)
    sent, refused = _sorted_out(ids, answers)
    return SendMessageBatchResult(successful=[_sent_entry(*one) for one in sent], failed=failed + refused)


async def delete_message_batch(context: Context, request: DeleteMessageBatchRequest) -> DeleteMessageBatchResult:
    """Raises what fails the whole call."""
    queue = await context.queue(request.queue_url)
    parameters.check_entries(request)
    answers = await delete.delete_batch(context.engine, queue, [entry.receipt_handle for entry in request.entries])
    done, failed = _sorted_out([entry.id for entry in request.entries], answers)
    return DeleteMessageBatchResult(
        successful=[DeleteMessageBatchResultEntry(id=entry_id) for entry_id, _ in done], failed=failed
    )


async def change_message_visibility_batch(
    context: Context, request: ChangeMessageVisibilityBatchRequest
) -> ChangeMessageVisibilityBatchResult:
    """Raises what fails the whole call."""
    queue = await context.queue(request.queue_url)
    parameters.check_entries(request)
    failed: list[BatchResultErrorEntry] = []
    ids: list[str] = []
    changes: list[tuple[str, int]] = []
    for entry in request.entries:
        try:
            changes.append((entry.receipt_handle, _timeout_ms(entry)))
            ids.append(entry.id)
        except SqsError as error:
            failed.append(parameters.failed_entry(entry.id, error))
    answers = await visibility.change_batch(context.engine, queue, changes) if changes else []
    done, refused = _sorted_out(ids, answers)
    return ChangeMessageVisibilityBatchResult(
        successful=[ChangeMessageVisibilityBatchResultEntry(id=entry_id) for entry_id, _ in done],
        failed=failed + refused,
    )


def _timeout_ms(entry: ChangeMessageVisibilityBatchRequestEntry) -> int:
    if entry.visibility_timeout is None:
        raise MissingParameter.named("VisibilityTimeout")
    return parameters.visibility_ms(entry.visibility_timeout)


def _sorted_out(
    ids: Sequence[str], answers: Sequence[_Good | SqsError]
) -> tuple[list[tuple[str, _Good]], list[BatchResultErrorEntry]]:
    """Successful IDs with their answers, and failed entries."""
    good: list[tuple[str, _Good]] = []
    failed: list[BatchResultErrorEntry] = []
    for entry_id, answer in zip(ids, answers, strict=True):
        if isinstance(answer, SqsError):
            failed.append(parameters.failed_entry(entry_id, answer))
        else:
            good.append((entry_id, answer))
    return good, failed


def _sent_entry(entry_id: str, sent: Sent) -> SendMessageBatchResultEntry:
    return SendMessageBatchResultEntry(
        id=entry_id,
        message_id=sent.message_id,
        md5_of_message_body=sent.md5_of_body,
        md5_of_message_attributes=sent.md5_of_attributes,
        md5_of_message_system_attributes=sent.md5_of_system_attributes,
        sequence_number=sequence_text(sent.sequence),
    )
