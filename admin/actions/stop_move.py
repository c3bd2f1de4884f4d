"""Stops a move or a job: it ends after the current step; messages already moved stay moved."""

from __future__ import annotations

from admin.formats import counted
from admin.forms import Form
from admin.views.moves import job_of
from admin.visit import Done, Visit
from cqs.errors import ResourceNotFound
from cqs.service import move_tasks


async def task(visit: Visit, form: Form) -> Done:
    """Raises ResourceNotFound when there is none, or it has ended."""
    handle = form.text("handle")
    engine = visit.console.engine
    found = engine.moves.get(handle)
    if found is None:
        raise ResourceNotFound("There is no such move, or it ended long ago.")
    visit.queue_named(found.source, "CancelMessageMoveTask")
    moved = await move_tasks.cancel(engine, handle)
    path = visit.links.to("/moves/task", handle=handle)
    return Done(f"Stopping. {counted(moved, 'was', 'were')} moved so far.", path, target=found.source_arn)


async def job(visit: Visit, form: Form) -> Done:
    """Raises ResourceNotFound."""
    found = job_of(visit)
    visit.console.jobs.stop(found)
    return Done("Stopping.", visit.links.to(f"/moves/job/{found.number}"), target=found.title)
