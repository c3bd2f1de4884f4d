"""All messages of a queue with their leases, rows in parallel, ids and times only.

    100 rows ──25 a query──► those that hold something ──8 at a time──► pages

Most rows of most queues are empty, and with one query per row the first use of an empty queue would cost a hundred.
SCAN_AT_ONCE rows are read at the same time, a page of each; the pages of a row come in order, rows in any order. Bodies
are never read here: a fill needs to know what there is, and should not read a megabyte per message to find out.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from cqs import ids
from cqs.queue import Queue
from cqs.store.cassandra.leases import Leases, Newest
from cqs.store.cassandra.marks import Marks
from cqs.store.cassandra.messages import Messages, Page
from cqs.store.cassandra.session import Row
from cqs.store.interface import Stored

OCCUPIED_AT_ONCE = 25
"""Rows per query: a query meets the tombstones of all of its rows."""
SCAN_AT_ONCE = 8
SCAN_PAGE = 1_000


async def scan(
    messages: Messages, leases: Leases, marks: Marks, queue: Queue, rows: int, *, is_deep: bool = False
) -> AsyncIterator[list[Stored]]:
    """Pages of at most about SCAN_PAGE messages, none of them empty. Raises StoreUnavailable."""
    await marks.load(queue, is_fresh=True)
    newest = await leases.living(queue)
    asked = [range(start, min(start + OCCUPIED_AT_ONCE, rows)) for start in range(0, rows, OCCUPIED_AT_ONCE)]
    occupied = await asyncio.gather(*(messages.occupied(queue, some, is_deep=is_deep) for some in asked))
    waiting = iter([row for some in occupied for row in some])
    active: dict[int, AsyncIterator[Page]] = {}
    while True:
        while len(active) < SCAN_AT_ONCE and (row := next(waiting, None)) is not None:
            active[row] = messages.pages(queue, row, SCAN_PAGE, is_deep=is_deep)
        if not active:
            return
        pages = await asyncio.gather(*[_next(leases, queue, row, pages, newest) for row, pages in active.items()])
        for row, page in zip(list(active), pages, strict=True):
            if page:
                yield page
            else:
                del active[row]


async def _next(leases: Leases, queue: Queue, row: int, pages: AsyncIterator[Page], newest: Newest) -> list[Stored]:
    page = await anext(pages, None)
    if not page:
        return []
    await leases.received(queue, row, page[0][0], page[-1][0], newest)
    stored = [_stored(address, columns, newest) for address, columns in page]
    for address, _ in page:
        newest.pop(address, None)
    return stored


def _stored(address: int, columns: Row, newest: Newest) -> Stored:
    _, _, sent_ms, visible_ms, group, sequence = columns
    seen = newest.get(address)
    return Stored(
        address,
        ids.ms_of(address) if sent_ms is None else sent_ms,
        visible_ms or 0,
        group,
        sequence or 0,
        seen.lease if seen is not None else None,
    )
