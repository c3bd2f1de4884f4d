"""Confirmation before queues are purged or deleted: exactly which ones, and a text to type."""

from __future__ import annotations

from collections.abc import Sequence

from aiohttp import web

from admin.queue_list import choice_of, find
from admin.snippets import snippets, url_of
from admin.visit import Visit
from cqs.cache.counts import Counts
from cqs.cache.interface import Residency
from cqs.plural import counted
from cqs.queue import Queue, QueueName
from cqs.service.statistics import survey

QUEUES_MAX, SNIPPETS_MAX = 500, 20
VERBS = {"purge": "PurgeQueue", "delete": "DeleteQueue"}


async def show(visit: Visit) -> web.StreamResponse:
    """The selected queues, or all that match the filter."""
    verb = visit.query("do")
    verb = verb if verb in VERBS else "purge"
    visit.viewer.check(VERBS[verb])
    chosen = _chosen(visit)
    shown = list(zip(chosen, await _counts(visit, chosen[:QUEUES_MAX]), strict=False))
    known = [counts for _, counts in shown if counts is not None]
    return visit.page(
        "sure.html",
        verb=verb,
        shown=shown,
        total=sum(one.ready + one.in_flight + one.delayed for one in known),
        is_known=len(known) == len(shown),
        typed=phrase(verb, [queue.name for queue, _ in shown]),
        snippets=snippets(visit, *((VERBS[verb], {"QueueUrl": url_of(visit, one)}) for one, _ in shown[:SNIPPETS_MAX])),
        left_out=max(0, len(chosen) - QUEUES_MAX),
        back=visit.links.queue(chosen[0]) if len(chosen) == 1 else visit.links.to("/queues"),
    )


def phrase(verb: str, names: list[str]) -> str:
    """The text to type: the queue's name; for several queues, the action and their number."""
    return names[0] if len(names) == 1 else f"{verb} {counted(len(names), 'queue')}"


def _chosen(visit: Visit) -> list[Queue]:
    registry = visit.console.engine.registry
    if visit.query("all") == "1":
        return find(visit.console.engine, visit.account, choice_of(visit))
    names = visit.request.query.getall("chosen", [])
    found = [registry.get(QueueName(visit.account, name)) for name in dict.fromkeys(names)]
    return [queue for queue in found if queue is not None]


async def _counts(visit: Visit, chosen: Sequence[Queue]) -> list[Counts | None]:
    """None = unknown: the cache does not respond, or does not have all of the queue."""
    sights = await survey(visit.console.engine, chosen)
    return [one.counts if one is not None and one.state.residency is Residency.READY else None for one in sights]
