"""The form for sending one message, or one per line; empty, or with a message to edit and send again."""

from __future__ import annotations

import shlex

import msgspec
from aiohttp import web

from admin.cqs_words import Params
from admin.forms import Form
from admin.line_ends import is_mixed
from admin.message_form import KINDS, LINES_MAX, PartlySent, typed_attributes, write_attributes
from admin.snippets import ELLIPSIS, Snippets, named, snippets, url_of
from admin.views.new_queue import NAMES_MAX
from admin.visit import Visit
from cqs import limits
from cqs.errors import CqsError, ResourceNotFound
from cqs.queue import Queue, QueueName
from cqs.service.peek import find


class Fields(msgspec.Struct, frozen=True, kw_only=True):
    """The contents of the form."""

    body: str = ""
    attributes: list[tuple[str, str, str]]
    delay: str = ""
    group: str = ""
    dedup_id: str = ""
    trace_header: str = ""
    lines: str = ""
    target: str = ""
    is_original_deleted: bool = True


async def show(visit: Visit) -> web.StreamResponse:
    """The empty form."""
    queue = visit.queue("SendMessage")
    return _page(visit, queue, Fields(attributes=write_attributes(None), target=queue.name))


async def edit(visit: Visit) -> web.StreamResponse:
    """The form, filled with an existing message."""
    queue = visit.queue("ResendMessage")
    visit.queue("GetMessage")
    message = (await find(visit.console.engine, queue, visit.parts["message"][:200])).message
    is_copy = visit.query("copy") == "1"
    target = "" if is_copy else visit.query("to") or queue.name
    fields = Fields(
        body=message.body,
        attributes=write_attributes(message),
        group=message.group or "",
        target=target,
        is_original_deleted=not is_copy,
    )
    return _page(visit, queue, fields, original=message.message_id)


async def retry(visit: Visit, form: Form, error: CqsError) -> web.StreamResponse:
    """The form again, as it was entered, without what was sent; the form for a new message if the original no longer
    exists."""
    queue = visit.queue("SendMessage")
    rest = "\n".join(error.rest) if isinstance(error, PartlySent) else form.text("lines")
    fields = Fields(
        body=form.text("body"),
        attributes=typed_attributes(form),
        delay=form.text("delay"),
        group=form.text("group"),
        dedup_id=form.text("dedup_id"),
        trace_header=form.text("trace_header"),
        lines=rest,
        target=form.text("target", queue.name),
        is_original_deleted=form.is_on("is_original_deleted"),
    )
    original, told = visit.parts.get("message", "")[:200], str(error)
    if original and isinstance(error, ResourceNotFound):
        original, told = "", f"{error} What you typed can be sent as a new message."
        queue = visit.queue_named(QueueName(queue.account, fields.target or queue.name), "SendMessage")
    return _page(visit, queue, fields, original=original, error=told, status=422)


def _page(
    visit: Visit, queue: Queue, fields: Fields, *, original: str = "", error: str = "", status: int = 200
) -> web.StreamResponse:
    """`original`: the ID of the message being edited, "" = a new one."""
    names = [one.name for one in visit.console.engine.registry.page(queue.account, "", "", NAMES_MAX)]
    return visit.page(
        "send.html",
        status=status,
        queue=queue,
        tab="messages",
        fields=fields,
        original=original,
        kinds=KINDS,
        names=names,
        is_mixed=is_mixed(fields.body),
        error=error,
        size_max=queue.settings.message_size_max,
        delay_max=limits.DELAY_S_MAX,
        lines_max=LINES_MAX,
        snippets=_snippets(visit, queue, original),
        many=_many(visit, queue),
    )


def _snippets(visit: Visit, queue: Queue, original: str) -> Snippets:
    url = url_of(visit, queue)
    if original:
        new: Params = {"MessageId": original, "MessageBody": ELLIPSIS, "DeleteOriginal": True}
        return snippets(visit, ("ResendMessage", {"QueueUrl": url, **new}))
    return snippets(visit, ("SendMessage", {"QueueUrl": url, **_blank(queue)}))


def _many(visit: Visit, queue: Queue) -> Snippets:
    entries = [{"Id": str(number), **_blank(queue)} for number in (1, 2)]
    batch = {"QueueUrl": url_of(visit, queue), "Entries": entries}
    words = f"send --lines {shlex.quote(named(visit, queue.arn))} < lines.txt"
    return snippets(visit, ("SendMessageBatch", batch), cqs=words)


def _blank(queue: Queue) -> dict[str, str]:
    fifo = {"MessageGroupId": ELLIPSIS, "MessageDeduplicationId": ELLIPSIS} if queue.settings.is_fifo else {}
    return {"MessageBody": ELLIPSIS} | fifo
