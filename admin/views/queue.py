"""A queue: its depth and rates, its receivers, its location, and its names."""

from __future__ import annotations

from collections import Counter

import msgspec
from aiohttp import web

from admin.charts import RANGE_NAMES, range_of
from admin.snippets import snippets, url_of
from admin.views.queues import rows_of
from admin.visit import Visit
from admin.where import where_of
from admin.wire_attributes import attributes_of
from cqs.cache.entry import State
from cqs.cache.interface import BROWSED_MAX, ShardState
from cqs.errors import CacheUnavailable
from cqs.queue import Queue
from cqs.service.engine import shard_of

GROUPS_SCANNED_MAX = 2_000
GROUPS_SHOWN_MAX = 10
SOURCES_MAX = 50


class Group(msgspec.Struct, frozen=True):
    """A message group, or a tenant of a fair queue, among the scanned messages."""

    name: str
    ready: int
    in_flight: int


async def show(visit: Visit) -> web.StreamResponse:
    """The page. Raises QueueDoesNotExist, AccessDenied."""
    queue = visit.queue("GetQueueAttributes")
    engine = visit.console.engine
    (row,) = await rows_of(visit, [queue])
    chart_range, where = range_of(visit.query("range")), await where_of(visit, queue)
    return visit.page(
        "queue.html",
        queue=queue,
        row=row,
        tab="overview",
        range=chart_range,
        ranges=RANGE_NAMES,
        url=url_of(visit, queue),
        where=where,
        state=await _state(visit, queue) if where or not engine.cluster.datacenter else None,
        shard=shard_of(queue),
        groups=await visit.console.thrift.ask(
            ("groups", queue.storage_id), lambda: _groups(visit, queue), is_fresh=not visit.is_refresh
        ),
        groups_max=GROUPS_SCANNED_MAX,
        receivers=visit.console.lately.receivers(queue),
        names=await visit.names(),
        waiting=engine.waiters.count(queue.uid),
        sources=engine.registry.sources(queue, "", SOURCES_MAX),
        snippets=_snippets(visit, queue),
    )


async def _state(visit: Visit, queue: Queue) -> ShardState | None:
    try:
        return await visit.console.engine.cache.state(shard_of(queue))
    except CacheUnavailable:
        return None


async def _groups(visit: Visit, queue: Queue) -> list[Group]:
    """The largest groups among the first messages, GROUPS_SCANNED_MAX in each state."""
    try:
        ready, in_flight = [await _by_group(visit, queue, state) for state in (State.READY, State.IN_FLIGHT)]
    except CacheUnavailable:
        return []
    total = ready + in_flight
    return [Group(name, ready[name], in_flight[name]) for name, _ in total.most_common(GROUPS_SHOWN_MAX)]


async def _by_group(visit: Visit, queue: Queue, state: State) -> Counter[str]:
    found: Counter[str] = Counter()
    after = None
    for _ in range(GROUPS_SCANNED_MAX // BROWSED_MAX):
        page = await visit.console.engine.cache.browse(shard_of(queue), state, after, BROWSED_MAX, is_bare=True)
        found.update(entry.group for entry in page.entries if entry.group)
        after = page.after
        if after is None:
            break
    return found


def _snippets(visit: Visit, queue: Queue) -> list[tuple[str, str]]:
    url = url_of(visit, queue)
    return snippets(
        visit,
        ("GetQueueAttributes", {"QueueUrl": url, "AttributeNames": ["All"]}),
        ("ReceiveMessage", {"QueueUrl": url, "MaxNumberOfMessages": 10, "WaitTimeSeconds": 10}),
        ("CreateQueue", {"QueueName": queue.name, "Attributes": attributes_of(queue.settings)}),
    )
