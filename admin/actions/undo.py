"""Cancels a pending change, or restores what was changed, on whichever worker of this node it is kept."""

from __future__ import annotations

import msgspec

from admin.answers import origin_of
from admin.console import Console
from admin.forms import BadInput, Form
from admin.grace import Pending
from admin.visit import Done, Visit
from cqs.errors import CqsError
from cqs.queue import Queue, QueueName
from cqs.service.reversal import put_back

_PENDING, _UNDO = "pending", "undo"
"""The questions that workers ask each other, with a number."""
_TOO_LATE = "Too late: this was already done or cancelled, or somebody has changed it since."
_NOT_HERE = f"{_TOO_LATE} Or it is pending on another node; only that node's console can undo it."


class _Kept(msgspec.Struct, frozen=True):
    """A change that can be undone, as workers describe it to each other."""

    account: str = ""
    queue: str = ""
    target: str = ""
    text: str = ""


async def act(visit: Visit, form: Form) -> Done:
    """Raises BadInput when it is too late, AccessDenied, and what `reversal.put_back` raises."""
    number = visit.numbered("number")
    pending = visit.console.grace.get(number)
    if pending is not None:
        kept = _kept(pending)
        _check(visit, kept)
        text = _told(pending) if await visit.console.grace.undo(pending) else ""
    else:
        kept, text = await _elsewhere(visit, str(number)) if number else (_Kept(), "")
    if not text:
        raise BadInput(_TOO_LATE if visit.console.about.nodes is None else _NOT_HERE)
    return Done(text, origin_of(visit, form), target=kept.target, detail=f"{text} ({kept.text})")


def offer(visit: Visit, before: Queue, text: str, steps: int = 1) -> None:
    """Offers to restore the settings and tags that a queue had `before`, for a while. `steps`: how many writes the
    change took; if the queue's version does not match that, somebody else has changed it too, and nothing is
    offered."""
    engine = visit.console.engine
    now = engine.registry.get(before.key)
    if now is None or now.uid != before.uid or not steps or now.version != before.version + steps:
        return
    version = now.version
    visit.console.grace.offer(text, before.key, lambda: put_back(engine, before, version))


def listen(console: Console) -> None:
    """Lets the node's other workers undo what is kept in this one."""
    grace = console.grace

    async def tell(number: str) -> bytes:
        pending = grace.get(int(number))
        return b"" if pending is None else msgspec.json.encode(_kept(pending))

    async def undo(number: str) -> bytes:
        pending = grace.get(int(number))
        try:
            return b"" if pending is None or not await grace.undo(pending) else _told(pending).encode()
        except CqsError:
            return b""

    console.engine.fellows.answer(_PENDING, tell)
    console.engine.fellows.answer(_UNDO, undo)


def _told(pending: Pending) -> str:
    return "Restored to what it was." if pending.put_back is not None else "Cancelled: nothing was done."


def _kept(pending: Pending) -> _Kept:
    return _Kept(pending.account, pending.queue, pending.target, pending.text)


def _check(visit: Visit, kept: _Kept) -> None:
    """Raises BadInput for a change of an account that the viewer may not see, AccessDenied."""
    if not visit.viewer.sees(kept.account):
        raise BadInput(_TOO_LATE)
    if kept.queue:
        visit.queue_named(QueueName(kept.account, kept.queue), "SetQueueAttributes")


async def _elsewhere(visit: Visit, number: str) -> tuple[_Kept, str]:
    """What another worker kept, and the result of undoing it, "" = nothing. No other worker uses the same number."""
    fellows = visit.console.engine.fellows
    found = [msgspec.json.decode(kept, type=_Kept) for kept in (await fellows.ask(_PENDING, number)).values() if kept]
    if not found:
        return _Kept(), ""
    for kept in found:
        _check(visit, kept)
    return found[0], "".join(text.decode() for text in (await fellows.ask(_UNDO, number)).values())
