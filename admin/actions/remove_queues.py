"""Purges or deletes one queue or many, after a confirmation was typed. Each is a step of its own: a failure is
reported, and does not stop the others."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial

from admin.actions.later import later
from admin.formats import counted
from admin.forms import BadInput, Form
from admin.views.sure import QUEUES_MAX, phrase
from admin.visit import Done, Told, Visit
from cqs.errors import CqsError, QueueDoesNotExist
from cqs.queue import Queue, QueueName
from cqs.service import queues
from cqs.service.engine import Engine
from cqs.side_by_side import side_by_side

Do = Callable[[Engine, Queue], Awaitable[None]]
TOLD_MAX = 5
NAMED_MAX = 3
AT_ONCE = 20
"""With two data centres each takes seconds."""
_PAST = {"purge": "purged", "delete": "deleted"}


async def purge(visit: Visit, form: Form) -> Done:
    """Raises BadInput."""
    return await _each(visit, form, "purge", "PurgeQueue", queues.purge)


async def delete(visit: Visit, form: Form) -> Done:
    """Raises BadInput."""
    return await _each(visit, form, "delete", "DeleteQueue", queues.delete)


async def _each(visit: Visit, form: Form, verb: str, permission: str, do: Do) -> Done:
    names = list(dict.fromkeys(form.all("chosen")))
    if not 1 <= len(names) <= QUEUES_MAX:
        raise BadInput(f"Choose 1 to {QUEUES_MAX} queues.")
    if form.word("typed") != phrase(verb, names):
        raise BadInput(f"Nothing was done: type {phrase(verb, names)!r} to continue.")
    account, engine = form.word("account", visit.account), visit.console.engine
    only = len(names) == 1 and verb == "purge"
    path = visit.links.queue(QueueName(account, names[0])) if only else visit.links.to("/queues")

    if visit.console.grace.is_on:
        chosen = {name: visit.queue_named(QueueName(account, name), permission) for name in names}
        return _later(visit, account, verb, chosen, permission, do, path)

    async def one(name: str) -> None:
        await do(engine, visit.queue_named(QueueName(account, name), permission))

    told = await _all(account, names, one)
    if all(line.error for line in told):
        raise CqsError(_said(verb, told))
    return Done(_said(verb, told), path, told=told)


def _later(
    visit: Visit, account: str, verb: str, chosen: Mapping[str, Queue], permission: str, do: Do, path: str
) -> Done:
    """After the time in which it can be undone; with the user's permissions at that time, and only these queues, not
    new ones with the same names."""
    names = list(chosen)

    async def work() -> Sequence[Told]:
        present = await visit.renewed()

        async def one(name: str) -> None:
            queue = present.queue_named(QueueName(account, name), permission)
            if queue.uid != chosen[name].uid:
                raise QueueDoesNotExist
            await do(visit.console.engine, queue)

        return await _all(account, names, one)

    what = names[0] if len(names) == 1 else counted(len(names), "queue")
    will = f"will be {_PAST[verb]}"
    about = [Told(f"{account}/{name}") for name in names]
    told = later(visit, permission, f"{_named(names)} {will}", account, about, work, lambda lines: _said(verb, lines))
    return Done(f"{what} {will} in {counted(visit.console.grace.wait_s, 'second')}.", path, told=told)


def _named(names: Sequence[str]) -> str:
    """For users who may want to cancel it: the names, or the first of many."""
    shown = names[:NAMED_MAX] if len(names) > NAMED_MAX else names[:-1]
    rest = counted(len(names) - NAMED_MAX, "more queue") if len(names) > NAMED_MAX else names[-1]
    return f"{', '.join(shown)} and {rest}" if shown else rest


async def _all(account: str, names: Sequence[str], one: Callable[[str], Awaitable[None]]) -> list[Told]:
    """The result for each queue: done, or why not."""

    async def told(name: str) -> Told:
        error = ""
        try:
            await one(name)
        except CqsError as problem:
            error = str(problem)
        return Told(f"{account}/{name}", "" if error else "done", error)

    return await side_by_side([partial(told, name) for name in names], AT_ONCE)


def _said(verb: str, told: Sequence[Told]) -> str:
    """The result in words, for the page."""
    past = _PAST[verb]
    done = [line.target.partition("/")[2] for line in told if not line.error]
    failed = [f"{line.target.partition('/')[2]}: {line.error}" for line in told if line.error]
    what = done[0] if len(done) == 1 else counted(len(done), "queue")
    text = f"{what} {past}." if done else "Nothing was done."
    if failed:
        more = f" and {len(failed) - TOLD_MAX} more" if len(failed) > TOLD_MAX else ""
        text += f" Not {past}: {'; '.join(failed[:TOLD_MAX])}{more}"
    return text
