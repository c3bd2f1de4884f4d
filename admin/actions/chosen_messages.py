"""Applies an action to selected messages of a queue; see `cqs.service.chosen`."""

from __future__ import annotations

from collections.abc import Sequence

from admin.actions.later import later
from admin.formats import counted
from admin.forms import BadInput, Form
from admin.queue_form import read_duration
from admin.visit import Done, Told, Visit
from cqs import limits
from cqs.queue import Queue
from cqs.service.chosen import CHOSEN_MAX, PERMISSION_OF, Change, change

IDS_A_LINE = 90
_PAST = {
    Change.DELETE: "deleted",
    Change.REVEAL: "made visible",
    Change.HASTEN: "sent now",
    Change.HIDE: "hidden for longer",
}


async def act(visit: Visit, form: Form) -> Done:
    """Raises BadInput, AccessDenied, and what `chosen.change` raises."""
    what = Change(form.chosen("do", "What to do", tuple(Change)))
    queue = visit.queue(PERMISSION_OF[what])
    wanted = list(dict.fromkeys(form.all("chosen")))
    if not 1 <= len(wanted) <= CHOSEN_MAX:
        raise BadInput(f"Choose 1 to {CHOSEN_MAX:,} messages.")
    hide_ms = read_duration(form.word("for"), "Hide for", 0, limits.VISIBILITY_S_MAX) if what is Change.HIDE else 0
    sender_id, grace = visit.viewer.caller(queue.account).sender_id, visit.console.grace
    is_gone = len(wanted) == 1 and what is not Change.HIDE
    path = visit.links.queue(queue, "messages") if is_gone else _back(visit, form, queue)
    if what is Change.DELETE and grace.is_on:

        async def work() -> list[Told]:
            (await visit.renewed()).queue_named(queue.key, PERMISSION_OF[what])
            missed = await change(visit.console.engine, queue, wanted, what, sender_id)
            return _lines(queue, f"deleted, {len(missed)} already gone", wanted)

        will = f"{counted(len(wanted), 'message')} of {queue.name} will be deleted"
        about = _lines(queue, what, wanted)
        told = later(visit, "ChangeMessages", will, queue.account, about, work, lambda lines: lines[0].error)
        text = f"{will} in {counted(grace.wait_s, 'second')}, unless consumers delete them first."
    else:
        missed = len(await change(visit.console.engine, queue, wanted, what, sender_id, hide_ms))
        text = f"{counted(len(wanted) - missed, 'message')} {_PAST[what]}."
        if missed:
            text += f" {counted(missed, 'was', 'were')} already gone or in another state."
        told = _lines(queue, what, wanted)
    return Done(text, path, told=told)


def _lines(queue: Queue, what: str, message_ids: Sequence[str]) -> list[Told]:
    """All IDs for the log of changes, as many per line as fit."""
    return [
        Told(queue.arn, f"{what} ({place + 1:,} to {place + len(some):,} of {len(message_ids):,}): {', '.join(some)}")
        for place in range(0, len(message_ids), IDS_A_LINE)
        for some in [message_ids[place : place + IDS_A_LINE]]
    ]


def _back(visit: Visit, form: Form, queue: Queue) -> str:
    wanted = form.text("back")
    return wanted if visit.links.is_ours(wanted) else visit.links.queue(queue, "messages")
