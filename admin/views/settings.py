"""A queue's settings and tags: view and change."""

from __future__ import annotations

from aiohttp import web

from admin import queue_form
from admin.forms import Form
from admin.snippets import snippets, url_of
from admin.views.new_queue import form_parts
from admin.visit import Visit
from admin.wire_attributes import attributes_of
from cqs.errors import CqsError
from cqs.queue import Queue
from cqs.service.queue_rules import WIRE_NAMES


async def show(visit: Visit) -> web.StreamResponse:
    queue = visit.queue("GetQueueAttributes")
    return _page(visit, queue, queue_form.write(queue.settings), queue_form.write_tags(queue.tags))


async def retry(visit: Visit, form: Form, error: CqsError) -> web.StreamResponse:
    """The form again, as it was entered, with the version that it was entered for: trying again does not undo what
    others have changed in the meantime."""
    queue = visit.queue("GetQueueAttributes")
    values = {field: form.text(field) for field in queue_form.write(queue.settings)}
    return _page(visit, queue, values, form.text("tags"), typed=form, error=str(error), status=422)


def _page(
    visit: Visit,
    queue: Queue,
    values: dict[str, str],
    tags: str,
    *,
    typed: Form | None = None,
    error: str = "",
    status: int = 200,
) -> web.StreamResponse:
    url = url_of(visit, queue)
    shown = frozenset(WIRE_NAMES) - {"is_fifo", "policy", "kms_key_id", "kms_reuse_s"}
    if not queue.settings.is_fifo:
        shown -= {"is_content_dedup", "dedup_scope", "throughput_limit"}
    calls: list[tuple[str, dict[str, object]]] = [
        ("SetQueueAttributes", {"QueueUrl": url, "Attributes": attributes_of(queue.settings, shown)})
    ]
    if queue.tags:
        calls.append(("TagQueue", {"QueueUrl": url, "Tags": dict(queue.tags)}))
    return visit.page(
        "settings.html",
        status=status,
        queue=queue,
        tab="settings",
        values=values,
        version=queue.version if typed is None else typed.word("version"),
        tags=tags,
        error=error,
        is_fifo=queue.settings.is_fifo,
        snippets=snippets(visit, *calls),
        **form_parts(visit),
    )
