"""Purging and deleting: one queue or many, after its text was typed. Each is a step of its own: what fails is told, and
does not hold up the others."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from admin.forms import BadInput, Form
from admin.views.sure import QUEUES_MAX, phrase
from admin.visit import Done, Visit
from cqs.errors import CqsError
from cqs.queue import Queue, QueueName
from cqs.service import queues
from cqs.service.engine import Engine

TOLD_MAX = 5


async def purge(visit: Visit, form: Form) -> Done:
    """Raises BadInput."""
    return await _each(visit, form, "purge", "PurgeQueue", queues.purge)


async def delete(visit: Visit, form: Form) -> Done:
    """Raises BadInput."""
    return await _each(visit, form, "delete", "DeleteQueue", queues.delete)


async def _each(
    visit: Visit, form: Form, verb: str, permission: str, do: Callable[[Engine, Queue], Awaitable[None]]
) -> Done:
    names = list(dict.fromkeys(form.all("chosen")))
    if not 1 <= len(names) <= QUEUES_MAX:
        raise BadInput(f"Choose 1 to {QUEUES_MAX} queues.")
    if form.word("typed") != phrase(verb, names):
        raise BadInput(f"Nothing was done: type {phrase(verb, names)!r} to go on.")
    done: list[str] = []
    failed: list[str] = []
    for name in names:
        try:
            queue = visit.queue_named(QueueName(form.word("account", visit.account), name), permission)
            await do(visit.console.engine, queue)
            done.append(name)
        except CqsError as error:
            failed.append(f"{name}: {error}")
    text = _told(verb, done, failed)
    if not done:
        raise BadInput(text)
    only = len(names) == 1 and verb == "purge"
    path = visit.links.queue(QueueName(visit.account, names[0])) if only else visit.links.to("/queues")
    return Done(text, path, target=", ".join(done), detail="; ".join(failed))


def _told(verb: str, done: list[str], failed: list[str]) -> str:
    past = "purged" if verb == "purge" else "deleted"
    what = done[0] if len(done) == 1 else f"{len(done)} queues"
    text = f"{what} {past}." if done else "Nothing was done."
    if failed:
        more = f" and {len(failed) - TOLD_MAX} more" if len(failed) > TOLD_MAX else ""
        text += f" Not {past}: {'; '.join(failed[:TOLD_MAX])}{more}"
    return text
