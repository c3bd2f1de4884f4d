"""The form for a new queue: empty, or with what was entered and why it failed."""

from __future__ import annotations

from aiohttp import web

from admin import queue_form
from admin.forms import Form
from admin.redrive_form import PERMISSIONS
from admin.snippets import ELLIPSIS, snippets
from admin.visit import Visit
from cqs.errors import CqsError
from cqs.queue import Settings

NAMES_MAX = 500
"""Number of queues suggested as dead-letter queues; any other can be entered."""


async def show(visit: Visit) -> web.StreamResponse:
    visit.viewer.check("CreateQueue")
    return _page(visit, queue_form.write(Settings()), name=visit.query("name"), tags="")


async def retry(visit: Visit, form: Form, error: CqsError) -> web.StreamResponse:
    """The form again, as it was entered."""
    values = {field: form.text(field) for field in queue_form.write(Settings())}
    return _page(visit, values, name=form.text("name"), tags=form.text("tags"), error=str(error), status=422)


def _page(
    visit: Visit, values: dict[str, str], *, name: str, tags: str, error: str = "", status: int = 200
) -> web.StreamResponse:
    return visit.page(
        "new_queue.html",
        status=status,
        values=values,
        name=name,
        tags=tags,
        error=error,
        snippets=snippets(visit, ("CreateQueue", {"QueueName": name or ELLIPSIS})),
        **form_parts(visit),
    )


def form_parts(visit: Visit) -> dict[str, object]:
    """What the settings fields need besides their values."""
    queues = visit.console.engine.registry.page(visit.account, "", "", NAMES_MAX)
    return {
        "limits": queue_form.LIMITS,
        "encryptions": queue_form.ENCRYPTIONS,
        "scopes": queue_form.SCOPES,
        "throughputs": queue_form.THROUGHPUTS,
        "permissions": PERMISSIONS,
        "names": [queue.name for queue in queues],
    }
