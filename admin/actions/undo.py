"""Calling off what waits to be done, at whichever worker of this node it waits."""

from __future__ import annotations

from admin.answers import origin_of
from admin.console import Console
from admin.forms import BadInput, Form
from admin.visit import Done, Visit

_PENDING, _UNDO = "pending", "undo"
"""What workers ask each other, with a number."""


async def act(visit: Visit, form: Form) -> Done:
    """Raises BadInput when it is too late."""
    number = visit.parts["number"]
    is_number = number.isascii() and number.isdigit() and len(number) < 10
    pending = visit.console.grace.get(int(number)) if is_number else None
    if pending is None:
        text = await _elsewhere(visit, number) if is_number else ""
    else:
        text = pending.text if visit.viewer.sees(pending.account) and visit.console.grace.undo(pending) else ""
    if not text:
        raise BadInput("Too late: it was done already, or called off.")
    return Done("Called off: nothing was done.", origin_of(visit, form), detail=text)


def listen(console: Console) -> None:
    """Lets the other workers of the node call off what waits at this one."""
    grace = console.grace

    async def tell(number: str) -> bytes:
        pending = grace.get(int(number))
        return b"" if pending is None else pending.account.encode()

    async def undo(number: str) -> bytes:
        pending = grace.get(int(number))
        return b"" if pending is None or not grace.undo(pending) else pending.text.encode()

    console.engine.fellows.answer(_PENDING, tell)
    console.engine.fellows.answer(_UNDO, undo)


async def _elsewhere(visit: Visit, number: str) -> str:
    """What another worker called off, "" = nothing. Numbers are no other worker's."""
    fellows = visit.console.engine.fellows
    accounts = [account.decode() for account in (await fellows.ask(_PENDING, number)).values()]
    if not any(visit.viewer.sees(account) for account in accounts):
        return ""
    return "".join(text.decode() for text in (await fellows.ask(_UNDO, number)).values())
