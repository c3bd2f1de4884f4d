"""Calling off what waits to be done."""

from __future__ import annotations

from admin.answers import origin_of
from admin.forms import BadInput, Form
from admin.visit import Done, Visit


async def act(visit: Visit, form: Form) -> Done:
    """Raises BadInput when it is too late."""
    number = visit.parts["number"]
    grace = visit.console.grace
    pending = grace.get(int(number)) if number.isascii() and number.isdigit() and len(number) < 10 else None
    if pending is None or not visit.viewer.sees(pending.account) or not grace.undo(pending):
        raise BadInput("Too late: it was done already, or called off.")
    return Done("Called off: nothing was done.", origin_of(visit, form), detail=pending.text)
