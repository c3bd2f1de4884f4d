"""Drains this node, or puts it back into service, with all its workers; see `cqs.service.drain`."""

from __future__ import annotations

from admin.formats import counted
from admin.forms import Form
from admin.visit import Done, Visit
from cqs.service import drain as service


async def drain(visit: Visit, form: Form) -> Done:
    """Raises AccessDenied."""
    visit.check_home()
    done = await service.drain(visit.console.engine)
    whole = f" from each of its {counted(done.workers, 'worker')}" if done.workers > 1 else ""
    answered = counted(done.answered, "waiting receive was", "waiting receives were")
    text = f"Draining: /ready answers 503{whole}, and {answered} answered. “Put it back into service” undoes it."
    return Done(text, visit.links.to("/nodes"), target=visit.console.about.node)


async def resume(visit: Visit, form: Form) -> Done:
    """Raises AccessDenied."""
    visit.check_home()
    await service.resume(visit.console.engine)
    return Done("The node is no longer draining.", visit.links.to("/nodes"), target=visit.console.about.node)
