"""Sending: one message, or many as lines, all checked before the first is sent."""

from __future__ import annotations

from collections.abc import Iterator

from admin.formats import counted
from admin.forms import BadInput, Form
from admin.message_form import read_draft, read_lines
from admin.visit import Done, Visit
from cqs import limits
from cqs.errors import SqsError
from cqs.plural import plural
from cqs.queue import Queue
from cqs.service.draft_rules import Draft, size_of
from cqs.service.send import send, send_batch


async def act(visit: Visit, form: Form) -> Done:
    """Raises BadInput, and what `send` raises."""
    queue = visit.queue("SendMessage")
    if form.word("lines"):
        return await _many(visit, form, queue)
    draft = read_draft(form, queue.settings)
    sent = await send(visit.console.engine, queue, draft, visit.viewer.caller(queue.account).sender_id)
    path = visit.links.queue(queue, "send" if form.is_on("again") else f"messages/{sent.message_id}")
    return Done(f"Sent as {sent.message_id}.", path, target=queue.arn, detail=sent.message_id)


async def _many(visit: Visit, form: Form, queue: Queue) -> Done:
    drafts = read_lines(form.text("lines"), queue.settings)
    sender_id = visit.viewer.caller(queue.account).sender_id
    sent = 0
    for batch in _batches(drafts):
        for answer in await send_batch(visit.console.engine, queue, batch, sender_id):
            if isinstance(answer, SqsError):
                raise BadInput(f"{sent} of {len(drafts)} {plural(sent, 'was', 'were')} sent; then: {answer}")
            sent += 1
    told = f"{counted(sent, 'message')} sent."
    return Done(told, visit.links.queue(queue, "messages"), target=queue.arn, detail=f"{sent}")


def _batches(drafts: list[Draft]) -> Iterator[list[Draft]]:
    """As many at a time as SQS takes, by number and by size."""
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
