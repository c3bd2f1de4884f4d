"""Dead letters: all queues that hold some, and the page of one of them, where they are viewed, grouped, edited and sent
back."""

from __future__ import annotations

import asyncio

import msgspec
from aiohttp import web

from admin.bodies import preview
from admin.letters import Group, Kind, arrived_ms, grouped, kind_of, reason_of
from admin.queue_list import Choice, find
from admin.snippets import ELLIPSIS, Snippets, of_each, url_of
from admin.views.new_queue import NAMES_MAX
from admin.views.queues import rows_of
from admin.visit import Visit
from admin.where import where_of
from cqs.cache.bodies import cost
from cqs.cache.entry import State
from cqs.limits import MOVE_RATE_MAX
from cqs.queue import Queue, name_of_arn
from cqs.service import move_tasks
from cqs.service.chosen import Change
from cqs.service.peek import Filter, Peeked, oldest
from cqs.store.interface import MoveTask

LOOKED_AT_MAX = 2_000
SHOWN_MAX = 100
TURN_BYTES = 100_000
TASKS_SHOWN = 5
QUEUES_MAX = 200


class Letter(msgspec.Struct, frozen=True):
    """A dead letter, as listed."""

    found: Peeked
    kind: Kind
    why: str
    arrived_ms: int


async def show_all(visit: Visit) -> web.StreamResponse:
    """Every dead-letter queue of the account, fullest first."""
    choice = Choice(kind="dead_letter")
    queues = find(visit.console.engine, visit.account, choice)
    rows = await rows_of(visit, queues[:QUEUES_MAX])
    registry = visit.console.engine.registry
    sources = {row.queue.uid: registry.sources(row.queue, "", 4) for row in rows}
    running = {task.source: task for task in visit.console.engine.moves.active()}
    return visit.page(
        "dead_letters.html", rows=rows, sources=sources, running=running, left_out=len(queues) - len(rows)
    )


async def show(visit: Visit) -> web.StreamResponse:
    """The page of a dead-letter queue; for any other queue, where its dead letters go."""
    queue = visit.queue("PeekMessages")
    engine = visit.console.engine
    sources = engine.registry.sources(queue, "", 50)
    if not sources:
        target = engine.registry.dead_letter_queue(queue)
        rows = await rows_of(visit, [target] if target is not None else [])
        return visit.page("no_dead_letters.html", queue=queue, tab="dead", target=target, row=next(iter(rows), None))
    looked_at, is_more = await visit.console.thrift.ask(
        ("letters", queue.storage_id),
        lambda: _look(visit, queue),
        is_fresh=not visit.is_refresh,
        weigh=lambda looked_at: sum(cost(one.found.message) for one in looked_at[0]),
    )
    chosen = _fitting(visit, looked_at)
    return visit.page(
        "workshop.html",
        queue=queue,
        where=await where_of(visit, queue),
        tab="dead",
        is_asking=any(visit.query(name) for name in ("text", "from", "shape", "error")),
        sources=sources,
        groups=_groups(visit, looked_at),
        letters=chosen[:SHOWN_MAX],
        matched=len(chosen),
        looked_at=len(looked_at),
        is_more=is_more,
        shown_max=SHOWN_MAX,
        asked={name: visit.query(name) for name in ("text", "from", "shape", "error")},
        names=[one.name for one in engine.registry.page(queue.account, "", "", NAMES_MAX)],
        tasks=await _tasks(visit, queue),
        rate_max=MOVE_RATE_MAX,
        preview=preview,
        snippets=_snippets(visit, queue),
    )


def _snippets(visit: Visit, queue: Queue) -> Snippets:
    url = url_of(visit, queue)
    one = {"QueueUrl": url, "MessageId": ELLIPSIS, "DeleteOriginal": True}
    return of_each(
        visit,
        ("Send all back", "StartMessageMoveTask", {"SourceArn": queue.arn}),
        ("Send one elsewhere", "ResendMessage", one | {"DestinationQueueUrl": f"{url.rpartition('/')[0]}/{ELLIPSIS}"}),
        ("Delete", "ChangeMessages", {"QueueUrl": url, "MessageIds": [ELLIPSIS], "Change": Change.DELETE.value}),
    )


async def letters_of(visit: Visit, queue: Queue) -> list[Letter]:
    """The dead letters that match the address, among those that the page scans."""
    looked_at, _ = await _look(visit, queue)
    return _fitting(visit, looked_at)


def asked_filter(text: str) -> Filter:
    return Filter(text=text or None)


def _fitting(visit: Visit, looked_at: list[Letter]) -> list[Letter]:
    wanted, chosen = asked_filter(visit.query("text")), [visit.query(name) for name in ("from", "shape", "error")]
    return [one for one in looked_at if one.kind.is_alike(*chosen) and wanted.matches(one.found.message)]


async def _look(visit: Visit, queue: Queue) -> tuple[list[Letter], bool]:
    """Everything shown about a message is computed once, yielding to the event loop between large ones: bodies are
    untrusted, and parsing megabytes of JSON takes time."""
    found, is_more = await oldest(visit.console.engine, queue, State.READY, LOOKED_AT_MAX)
    letters: list[Letter] = []
    size = 0
    for one in found:
        message = one.message
        why = reason_of(message, visit.console.engine.registry)
        letters.append(Letter(one, kind_of(message), why, arrived_ms(message)))
        size += len(message.body)
        if size >= TURN_BYTES:
            size = 0
            await asyncio.sleep(0)
    return letters, is_more


def _groups(visit: Visit, looked_at: list[Letter]) -> list[tuple[Group, str]]:
    """Each group with the address that shows only that group."""
    groups = grouped(one.kind for one in looked_at)[:12]
    return [
        (one, visit.here(**{"from": one.kind.source, "shape": one.kind.shape, "error": one.kind.error}))
        for one in groups
    ]


async def _tasks(visit: Visit, queue: Queue) -> list[MoveTask]:
    return await move_tasks.listed(visit.console.engine, queue.arn, TASKS_SHOWN)


def target_name(task: MoveTask) -> str:
    """The target of a move, in words."""
    name = name_of_arn(task.target_arn) if task.target_arn else None
    return name.name if name is not None else "where each came from"
