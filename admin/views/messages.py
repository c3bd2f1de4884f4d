"""Lists messages of a queue without receiving them: nothing is hidden, counted or moved.

The list is loaded in steps of a few milliseconds, each of which reports how far it has come; the page's script requests
the next step until there is enough to show, SCAN_LIMIT messages have been scanned, or the user stops it. Without
scripts, a link continues.
"""

from __future__ import annotations

import asyncio

import msgspec
from aiohttp import web

from admin.bodies import preview
from admin.cqs_words import Params
from admin.message_filter import FIELDS, is_asking, wanted_of
from admin.snippets import ELLIPSIS, Snippets, of_each, url_of
from admin.visit import Visit
from admin.where import where_of
from cqs.cache.bodies import cost
from cqs.cache.counts import Counts
from cqs.cache.entry import State
from cqs.errors import CacheUnavailable
from cqs.queue import Queue
from cqs.service import counting
from cqs.service.chosen import Change
from cqs.service.peek import Peeked, peek

SHOWN_A_STEP = 50
SCAN_A_TURN = 250
STEP_S_MAX = 0.06
SCAN_LIMIT = 100_000
_AFTER_DIGITS_MAX = 1_000
STATES = {State.READY: "Ready", State.IN_FLIGHT: "In flight", State.DELAYED: "Delayed"}


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one step. `after` "" = everything was scanned."""

    found: list[Peeked]
    scanned: int
    after: str
    holders: dict[int, tuple[str, int]]
    is_going_on: bool
    """The next step should follow automatically."""


async def show(visit: Visit) -> web.StreamResponse:
    """The page, or (requested by its script) the next step's rows."""
    queue = visit.queue("PeekMessages")
    state = state_of(visit)
    question = (queue.storage_id, state, visit.request.query_string)
    step = await visit.console.thrift.ask(
        question,
        lambda: _step(visit, queue, state),
        is_fresh=not visit.is_refresh or bool(visit.query("part")),
        weigh=lambda found: sum(cost(one.message) for one in found.found),
    )
    has_groups = queue.settings.is_fifo or visit.query("groups") == "1" or any(one.message.group for one in step.found)
    is_rows = visit.query("part") == "rows"
    return visit.page(
        "message_rows.html" if is_rows else "messages.html",
        queue=queue,
        where=None if is_rows else await where_of(visit, queue),
        state=state,
        step=step,
        preview=preview,
        limit=SCAN_LIMIT,
        has_groups=has_groups,
        names=await visit.names() if step.holders else {},
        tab="messages",
        states=STATES,
        counts=None if is_rows else await _counts(visit, queue),
        asked={name: visit.query(name) for name in FIELDS},
        is_asking=is_asking(visit),
        chips=[(f"{name}: {visit.query(name)}", visit.here(**_without(name))) for name in FIELDS if visit.query(name)],
        snippets=_snippets(visit, queue, state),
    )


def _snippets(visit: Visit, queue: Queue, state: State) -> Snippets:
    url = url_of(visit, queue)
    chosen = {"QueueUrl": url, "MessageIds": [ELLIPSIS]}
    look: dict[str, object] = {"QueueUrl": url, "State": state.value}
    if text := visit.query("text"):
        look["ContainsText"] = text
    acts: list[tuple[str, str, Params]] = [("Look", "PeekMessages", look)]
    if state is State.READY:
        acts.append(("Receive", "ReceiveMessage", {"QueueUrl": url, "MaxNumberOfMessages": 10}))
    elif state is State.IN_FLIGHT:
        acts.append(("Make visible now", "ChangeMessages", chosen | {"Change": Change.REVEAL.value}))
    elif not queue.settings.is_fifo:
        acts.append(("Send now", "ChangeMessages", chosen | {"Change": Change.HASTEN.value}))
    acts.append(("Delete", "ChangeMessages", chosen | {"Change": Change.DELETE.value}))
    return of_each(visit, *acts)


def _without(name: str) -> dict[str, object]:
    return {name: "", "after": "", "seen": "", "part": ""}


def state_of(visit: Visit) -> State:
    """The state in the address."""
    text = visit.query("state")
    return State(text) if text in tuple(State) else State.READY


async def _step(visit: Visit, queue: Queue, state: State) -> Step:
    loop = asyncio.get_running_loop()
    give_up = loop.time() + STEP_S_MAX
    seen, after = visit.number("seen", 0, 0, SCAN_LIMIT), _after_of(visit)
    wanted = wanted_of(visit)
    is_filtered = is_asking(visit)
    found: list[Peeked] = []
    while True:
        page = await peek(
            visit.console.engine,
            queue,
            state,
            after=after,
            count_max=SHOWN_A_STEP - len(found),
            scan_max=SCAN_A_TURN if is_filtered else SHOWN_A_STEP,
            wanted=wanted,
            is_browsing=True,
        )
        found += page.found
        seen += page.scanned
        after = page.after
        is_full = len(found) >= SHOWN_A_STEP
        if after is None or is_full or seen >= SCAN_LIMIT or loop.time() >= give_up:
            break
    is_going_on = after is not None and not is_full and seen < SCAN_LIMIT
    addresses = [one.message.address for one in found] if state is State.IN_FLIGHT else []
    return Step(
        found=found,
        scanned=seen,
        after="" if after is None else str(after),
        holders=visit.console.lately.holders(queue, addresses) if addresses else {},
        is_going_on=is_going_on,
    )


def _after_of(visit: Visit) -> int | None:
    text = visit.query("after")
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _AFTER_DIGITS_MAX else None


async def _counts(visit: Visit, queue: Queue) -> Counts | None:
    try:
        return await counting.counts(visit.console.engine, queue)
    except CacheUnavailable:
        return None
