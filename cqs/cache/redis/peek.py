"""Pages of what is in one state, in address order. Redis keeps no such order, so a page is a walk over the shard, in
steps of a few hundred messages that let others go between; it looks and changes nothing."""

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
    """The first `limit` messages in that state above `after`. `scan` gives the addresses after a cursor and the next
    cursor, b"0" first and last."""
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
