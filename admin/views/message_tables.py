"""Messages as CSV downloads: the contents of a queue's message list, or of its dead-letter page, beyond what one page
shows."""

from __future__ import annotations

import asyncio

from aiohttp import web

from admin.exports import table
from admin.formats import iso
from admin.message_filter import is_asking, wanted_of
from admin.views.dead_letters import letters_of
from admin.views.messages import SCAN_LIMIT, state_of
from admin.visit import Visit
from cqs.cache.entry import State
from cqs.queue import Queue
from cqs.service.peek import COUNT_MAX, SCAN_MAX, Peeked, peek

ROWS_MAX = 5_000
BYTES_MAX = 20_000_000
"""Total size of the bodies."""
_HEAD = ("message_id", "state", "group", "sent", "visible", "receives", "bytes", "sender", "body")
_LETTER_HEAD = ("message_id", "from", "why", "shape", "error", "came", "sent", "body")


async def as_table(visit: Visit) -> web.StreamResponse:
    """The first ROWS_MAX matching messages of the state, limited to BYTES_MAX and to the first SCAN_LIMIT messages."""
    queue = visit.queue("PeekMessages")
    rows = [_row(one) for one in await _found(visit, queue, state_of(visit))]
    return await table(f"{queue.name}-messages.csv", _HEAD, rows)


async def letters_as_table(visit: Visit) -> web.StreamResponse:
    """The matching dead letters among those that the page scans, with what it shows about each."""
    queue = visit.queue("PeekMessages")
    rows = []
    for letter in await letters_of(visit, queue):
        message, kind = letter.found.message, letter.kind
        times = (iso(letter.arrived_ms), iso(message.sent_ms))
        rows.append((message.message_id, kind.source, letter.why, kind.shape, kind.error, *times, message.body))
    return await table(f"{queue.name}-letters.csv", _LETTER_HEAD, rows)


async def _found(visit: Visit, queue: Queue, state: State) -> list[Peeked]:
    wanted, scan_max = wanted_of(visit), SCAN_MAX if is_asking(visit) else COUNT_MAX
    found: list[Peeked] = []
    after: int | None = None
    scanned = size = 0
    while len(found) < ROWS_MAX and scanned < SCAN_LIMIT and size < BYTES_MAX:
        page = await peek(
            visit.console.engine,
            queue,
            state,
            after=after,
            count_max=min(COUNT_MAX, ROWS_MAX - len(found)),
            scan_max=scan_max,
            wanted=wanted,
            is_browsing=True,
        )
        found += page.found
        scanned += page.scanned
        size += sum(one.message.size for one in page.found)
        after = page.after
        if after is None:
            break
        await asyncio.sleep(0)
    return found


def _row(one: Peeked) -> tuple[object, ...]:
    message = one.message
    visible = iso(one.visible_ms) if one.visible_ms else ""
    told = (message.message_id, one.state.value, message.group or "", iso(message.sent_ms), visible)
    return (*told, one.receive_count, message.size, message.sender_id, message.body)
