"""The list of queues; downloads as CSV or TOML; search by a part of the name."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from aiohttp import web

from admin.exports import as_toml, attachment, table
from admin.paging import paged
from admin.queue_list import (
    COLUMNS,
    KINDS,
    PER_PAGE,
    Choice,
    choice_of,
    columns_of,
    counts_of,
    find,
    rates_of,
    ring_of,
    sparks_of,
)
from admin.snippets import snippets
from admin.visit import Visit
from cqs.cache.counts import Counts
from cqs.cache.interface import Residency, Sight
from cqs.queue import Queue, name_of_arn
from cqs.service import statistics
from cqs.service.engine import shard_of

FOUND_MAX = 8
PAGE_NUMBER_MAX = 1_000_000


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One queue of the list. `counts` None = unknown: the cache does not respond, or does not have the queue."""

    queue: Queue
    counts: Counts | None
    residency: str
    """"" = the cache does not respond."""
    is_dirty: bool
    """The store answers receives until the cache is repaired."""
    in_rate: float
    out_rate: float
    sent: list[float | None]
    deleted: list[float | None]
    dead_letter: str
    """Name of its dead-letter queue, "" = none."""
    sources: int
    """How many queues have this one as their dead-letter queue; counts up to 2."""


async def show(visit: Visit) -> web.StreamResponse:
    """The list, filtered, sorted and paged as the address says."""
    choice = choice_of(visit)
    found = find(visit.console.engine, visit.account, choice)
    page, pages = paged(found, visit.number("page", 1, 1, PAGE_NUMBER_MAX), PER_PAGE)
    return visit.page(
        "queues.html",
        rows=await rows_of(visit, page),
        pages=pages,
        choice=choice,
        kinds=KINDS,
        columns=columns_of(visit),
        all_columns=COLUMNS,
        chips=_chips(visit, choice),
        has_any=bool(visit.console.engine.registry.page(visit.account, "", "", 1)),
        accounts=accounts_of(visit),
        is_dense=visit.query("rows") == "compact",
        find=choice.text,
        sampled_ms=visit.console.engine.metrics.depths.sampled_ms,
        snippets=snippets(visit, ("ListQueues", {})),
    )


async def rows_of(visit: Visit, chosen: Sequence[Queue]) -> list[Row]:
    """The current state of the queues, requested together."""
    sights = await statistics.survey(visit.console.engine, chosen)
    return [_row_of(visit, queue, sight) for queue, sight in zip(chosen, sights, strict=True)]


def _row_of(visit: Visit, queue: Queue, sight: Sight | None) -> Row:
    engine = visit.console.engine
    ring = ring_of(engine, queue)
    in_rate, out_rate = rates_of(ring, visit.now_ms)
    sent, deleted = sparks_of(ring, visit.now_ms)
    redrive = queue.settings.redrive
    target = name_of_arn(redrive.target_arn) if redrive is not None else None
    return Row(
        queue=queue,
        counts=sight.counts if sight is not None and sight.state.residency is not Residency.ABSENT else None,
        residency=sight.state.residency.value if sight is not None else "",
        is_dirty=engine.dirt.is_on(shard_of(queue)),
        in_rate=in_rate,
        out_rate=out_rate,
        sent=sent,
        deleted=deleted,
        dead_letter=target.name if target is not None else "",
        sources=len(engine.registry.sources(queue, "", 2)),
    )


async def find_few(visit: Visit) -> web.StreamResponse:
    """Suggestions below the search field while typing."""
    text = visit.query("q").strip()
    found = find(visit.console.engine, visit.account, Choice(text=text)) if text else []
    rows = [(queue, counts_of(visit.console.engine, queue)) for queue in found[:FOUND_MAX]]
    return visit.page("found.html", rows=rows, text=text, more=len(found) - len(rows))


async def as_table(visit: Visit) -> web.StreamResponse:
    """The whole list, over all its pages, as CSV."""
    engine = visit.console.engine
    head = ("name", "account", "type", "ready", "in_flight", "delayed", "oldest_s", "in_per_s", "out_per_s", "arn")
    lines = []
    for queue in find(engine, visit.account, choice_of(visit)):
        counts = counts_of(engine, queue)
        oldest_s = (visit.now_ms - counts.oldest_ms) // 1_000 if counts.oldest_ms else ""
        kind = "fifo" if queue.settings.is_fifo else "standard"
        rates = [f"{one:.2f}" for one in rates_of(ring_of(engine, queue), visit.now_ms)]
        numbers = (counts.ready, counts.in_flight, counts.delayed, oldest_s, *rates)
        lines.append((queue.name, queue.account, kind, *numbers, queue.arn))
    return await table("queues.csv", head, lines)


async def as_declarations(visit: Visit) -> web.StreamResponse:
    """The whole list as TOML for a server's configuration file."""
    listed = find(visit.console.engine, visit.account, choice_of(visit))
    found = [queue for queue in listed if visit.may_to("GetQueueAttributes", queue)]
    content = as_toml(found, visit.console.about.home)
    return attachment(content, "queues.toml", "application/toml; charset=utf-8")


def accounts_of(visit: Visit) -> list[str]:
    """The accounts that the viewer can choose from."""
    if not visit.viewer.is_everywhere:
        return []
    found = {queue.account for queue in visit.console.engine.registry}
    return sorted(found | {visit.viewer.account, visit.account})


def _chips(visit: Visit, choice: Choice) -> list[tuple[str, str]]:
    """The active filters, each with the address of the list without it."""
    chips = []
    if choice.text:
        chips.append((f"name has {choice.text}", visit.here(q="", page="")))
    if choice.kind:
        chips.append((KINDS[choice.kind], visit.here(kind="", page="")))
    if choice.tag:
        chips.append((f"tag {choice.tag}", visit.here(tag="", page="")))
    if choice.is_full_only:
        chips.append(("with messages", visit.here(full="", page="")))
    return chips
