"""Purging and deleting: one queue or many, after its text was typed. Each is a step of its own: what fails is told, and
does not hold up the others."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from admin.formats import counted
from admin.forms import BadInput, Form
from admin.views.sure import QUEUES_MAX, phrase
from admin.visit import Done, Visit
from cqs.errors import CqsError, QueueDoesNotExist
from cqs.queue import Queue, QueueName
from cqs.service import queues
from cqs.service.engine import Engine

Do = Callable[[Engine, Queue], Awaitable[None]]
TOLD_MAX = 5
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
        raise BadInput(f"Nothing was done: type {phrase(verb, names)!r} to go on.")
    account, engine = form.word("account", visit.account), visit.console.engine
    only = len(names) == 1 and verb == "purge"
    path = visit.links.queue(QueueName(account, names[0])) if only else visit.links.to("/queues")

    async def one(name: str) -> None:
        await do(engine, visit.queue_named(QueueName(account, name), permission))

    if visit.console.grace.is_on:
        chosen = {name: visit.queue_named(QueueName(account, name), permission) for name in names}
        return _later(visit, account, verb, chosen, permission, do, path)
    done, failed = await _all(names, one)
    if not done:
        raise BadInput(_told(verb, done, failed))
    return Done(_told(verb, done, failed), path, target=_targets(account, done), detail="; ".join(failed))


def _later(
    visit: Visit, account: str, verb: str, chosen: Mapping[str, Queue], permission: str, do: Do, path: str
) -> Done:
    """After the time in which it can be undone: by who may do it then, and to these queues, not to namesakes."""
    names = list(chosen)
    what = names[0] if len(names) == 1 else counted(len(names), "queue")

    async def work() -> str:
        present = await visit.renewed()

        async def one(name: str) -> None:
            queue = present.queue_named(QueueName(account, name), permission)
            if queue.uid != chosen[name].uid:
                raise QueueDoesNotExist
            await do(visit.console.engine, queue)

        done, failed = await _all(names, one)
        return _told(verb, done, failed) if failed else ""

    grace = visit.console.grace
    text = f"{what} will be {_PAST[verb]}"
    grace.begin(text, account, work)
    return Done(f"{text} in {counted(grace.wait_s, 'second')}.", path, target=_targets(account, names))


def _targets(account: str, names: list[str]) -> str:
    """For the log of changes, which is of all accounts."""
    return ", ".join(f"{account}/{name}" for name in names)


async def _all(names: list[str], one: Callable[[str], Awaitable[None]]) -> tuple[list[str], list[str]]:
    """Whose turn succeeded, and why the others' did not."""
    done: list[str] = []
    failed: list[str] = []
    for name in names:
        try:
            await one(name)
            done.append(name)
        except CqsError as error:
            failed.append(f"{name}: {error}")
    return done, failed


def _told(verb: str, done: list[str], failed: list[str]) -> str:
    past = _PAST[verb]
    what = done[0] if len(done) == 1 else counted(len(done), "queue")
    text = f"{what} {past}." if done else "Nothing was done."
    if failed:
        more = f" and {len(failed) - TOLD_MAX} more" if len(failed) > TOLD_MAX else ""
        text += f" Not {past}: {'; '.join(failed[:TOLD_MAX])}{more}"
    return text
