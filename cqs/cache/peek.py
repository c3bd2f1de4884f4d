"""Pages of the messages in one state, in address order. In a big shard a page scans every message, so it pauses now and
then to let other tasks run; it changes nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from copy import copy
from heapq import nsmallest
from itertools import chain

from cqs.cache.entry import Entry, State
from cqs.cache.page import Page

PEEK_BATCH = 20_000


async def page_of(
    entries: Mapping[int, Entry], among: Sequence[int], state: State, after: int | None, limit: int
) -> Page:
    """The first `limit` addresses of `among` that are in that state and above `after`."""
    above = -1 if after is None else after
    found: list[int] = []
    for start in range(0, len(among), PEEK_BATCH):
        if start:
            await asyncio.sleep(0)
        batch = among[start : start + PEEK_BATCH]
        candidates = (a for a in batch if a > above and (e := entries.get(a)) is not None and e.state is state)
        found = nsmallest(limit + 1, chain(found, candidates))
    page = [copy(e) for a in found[:limit] if (e := entries.get(a)) is not None and e.state is state]
    return Page(page, found[limit - 1] if len(found) > limit else None)
