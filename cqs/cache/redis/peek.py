"""Pages of the messages in one state, in address order. Redis keeps no such order, so a page scans the whole shard, in
steps of a few hundred messages so that other calls can run in between; it changes nothing."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from heapq import nsmallest

from cqs.cache.entry import Entry, State
from cqs.cache.page import Page
from cqs.cache.redis.codec import address_of, address_word


async def page_of(
    scan: Callable[[bytes], Awaitable[tuple[bytes, list[bytes]]]],
    look: Callable[[Sequence[int]], Awaitable[list[Entry | None]]],
    state: State,
    after: int | None,
    limit: int,
) -> Page:
    """The first `limit` messages in that state above `after`. `scan` returns the next cursor and the addresses found
    from a cursor on; b"0" starts and ends the scan."""
    above = b"" if after is None else address_word(after)
    found: list[bytes] = []
    cursor = b"0"
    while True:
        cursor, words = await scan(cursor)
        found = nsmallest(limit + 1, {word for word in words if word > above}.union(found))
        if cursor == b"0":
            break
    addresses = [address_of(word) for word in found]
    entries = [entry for entry in await look(addresses[:limit]) if entry is not None and entry.state is state]
    return Page(entries, addresses[limit - 1] if len(addresses) > limit else None)
