"""Sends one message, or many as lines; all are checked before the first is sent."""

from __future__ import annotations

from collections.abc import Iterator

from admin.formats import counted
from admin.forms import Form
from admin.message_form import PartlySent, numbered_lines, read_draft, read_lines
from admin.visit import Done, Visit
from cqs import limits
from cqs.errors import CqsError, SqsError
from cqs.queue import Queue
from cqs.service.draft_rules import Draft, size_of
from cqs.service.send import send, send_batch


async def act(visit: Visit, form: Form) -> Done:
    """Raises BadInput, PartlySent, and what `send` raises."""
    queue = visit.queue("SendMessage")
    if form.word("lines"):
        return await _many(visit, form, queue)
    draft = read_draft(form, queue.settings)
    sent = await send(visit.console.engine, queue, draft, visit.viewer.caller(queue.account).sender_id)
    path = visit.links.queue(queue, "send" if form.is_on("again") else f"messages/{sent.message_id}")
    return Done(f"Sent as {sent.message_id}.", path, target=queue.arn, detail=sent.message_id)


async def _many(visit: Visit, form: Form, queue: Queue) -> Done:
    drafts = read_lines(form.text("lines"), queue.settings)
    lines = [line for _, line in numbered_lines(form.text("lines"))]
    seen = 0
    for batch in _batches(drafts):
        own = lines[seen : seen + len(batch)]
        seen += len(batch)
        unsent, why = await _send(visit, queue, batch)
        if why is not None:
            rest = [*(own[place] for place in unsent), *lines[seen:]]
            raise why if len(rest) == len(lines) else PartlySent(len(lines) - len(rest), rest, why)
    told = f"{counted(seen, 'message')} sent."
    return Done(told, visit.links.queue(queue, "messages"), target=queue.arn, detail=f"{seen}")


async def _send(visit: Visit, queue: Queue, batch: list[Draft]) -> tuple[list[int], CqsError | None]:
    """The indexes of messages that were not sent, or whose outcome is unknown, and why."""
    try:
        answers = await send_batch(visit.console.engine, queue, batch, visit.viewer.caller(queue.account).sender_id)
    except CqsError as error:
        return list(range(len(batch))), error
    refused = {place: answer for place, answer in enumerate(answers) if isinstance(answer, SqsError)}
    return list(refused), next(iter(refused.values()), None)


def _batches(drafts: list[Draft]) -> Iterator[list[Draft]]:
    """As many at a time as SQS accepts, by number and by size."""
    batch: list[Draft] = []
    size = 0
    for draft in drafts:
        own = size_of(draft)
        if batch and (len(batch) == limits.BATCH_ENTRIES_MAX or size + own > limits.BATCH_SIZE_MAX):
            yield batch
            batch, size = [], 0
        batch.append(draft)
        size += own
    if batch:
        yield batch
