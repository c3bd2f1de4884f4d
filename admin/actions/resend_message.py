"""Edits a message and sends it again, to its own queue or another, and optionally deletes the original."""

from __future__ import annotations

from admin.forms import BadInput, Form
from admin.line_ends import restored
from admin.message_form import read_draft
from admin.visit import Done, Visit
from cqs import limits
from cqs.queue import QueueName
from cqs.service.peek import find
from cqs.service.resend import Edits, resend


async def act(visit: Visit, form: Form) -> Done:
    """Raises BadInput, ResourceNotFound when the original no longer exists, and what `resend` raises."""
    source = visit.queue("ResendMessage")
    name = form.word("target") or source.name
    if not limits.QUEUE_NAME.fullmatch(name):
        raise BadInput(f"To: {name[:100]!r} is not a valid queue name.")
    target = visit.queue_named(QueueName(source.account, name), "SendMessage")
    is_original_deleted = form.is_on("is_original_deleted")
    if is_original_deleted:
        visit.queue("DeleteMessage")
    message_id = visit.parts["message"]
    original = (await find(visit.console.engine, source, message_id)).message
    draft = restored(read_draft(form, target.settings), original)
    edits = Edits(
        body=draft.body,
        attributes=draft.attributes,
        delay_ms=draft.delay_ms,
        group=draft.group,
        dedup_id=draft.dedup_id,
    )
    sender_id = visit.viewer.caller(source.account).sender_id
    resent = await resend(
        visit.console.engine, source, target, message_id, edits, sender_id, is_original_deleted=is_original_deleted
    )
    new_id = resent.sent.message_id
    gone = " The original was deleted." if resent.is_original_deleted else " The original remains."
    path = visit.links.queue(target, f"messages/{new_id}")
    detail = f"{message_id} as {new_id} to {target.name}"
    return Done(f"Sent to {target.name} as {new_id}.{gone}", path, target=source.arn, detail=detail)
