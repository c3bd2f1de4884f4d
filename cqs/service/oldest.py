"""The oldest messages of a queue that nobody holds, according to the store, across all its rows. Messages that reached
their maximum receive count are left to the cache: the next receive from it moves them to the dead-letter queue.

    row 3   ·aa·b·bb|            a, b free, · held, | end of what was read
    row 7   a·b|
    row 9   ·a·a·a               the whole row
             ─────► age          only messages older than the first | are certain to be the oldest: row 7 is read on

A row is read further until enough messages are certain, or HEAD_MAX have been read: then it holds up no other row.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from cqs.message import Message
from cqs.queue import Queue
from cqs.service import queue_rules
from cqs.service.engine import Engine, shard_of
from cqs.side_by_side import side_by_side
from cqs.store.interface import Lease

READ_AHEAD = 20
"""Messages read for each one wanted, since the first ones may be hidden."""
HEAD_MAX = 1_000
_ROWS_AT_ONCE = 10
_FURTHER = 4

Free = tuple[Message, Lease | None]
"""A message that nobody holds, and its last lease."""


@dataclass(frozen=True, slots=True)
class Head:
    """The beginning of a row. `end` = the address up to which everything is known; None = up to the row's end, or as
    far as rows are read. A head slightly shorter than `limit` need not be the end: damaged messages are left out."""

    row: int
    limit: int
    free: list[Free]
    end: int | None


async def look(engine: Engine, queue: Queue, row: int, limit: int) -> Head:
    """The free ones among the row's `limit` oldest messages, in order. This node's own holds are checked last, and may
    have grown when the caller resumes after other awaits."""
    shard, now_ms, retention_ms = shard_of(queue), engine.clock.now_ms(), queue.settings.retention_ms
    head = await engine.store.head(queue, row, limit)
    due = [one for one in head if one.visible_ms <= now_ms < one.sent_ms + retention_ms]
    known = await engine.store.leases(queue, [one.address for one in due]) if due else []
    handed = engine.fallback.living(shard, now_ms)
    receives_max = queue_rules.receives_max(engine.registry, queue) or sys.maxsize
    free = [
        (message, lease)
        for message, lease in zip(due, known, strict=True)
        if message.address not in handed
        and (lease is None or (lease.hidden_until_ms <= now_ms and lease.receive_count < receives_max))
    ]
    is_whole = limit >= HEAD_MAX or len(head) <= limit // 2
    return Head(row, limit, free, None if is_whole else head[-1].address)


async def oldest(engine: Engine, queue: Queue, rows: Sequence[int], wanted: int) -> list[Free]:
    """The `wanted` oldest free messages or a few more, oldest first; fewer if there are no more, or if they lie behind
    HEAD_MAX others in their row. Raises StoreUnavailable."""
    if not rows:
        return []
    held = len(engine.fallback.living(shard_of(queue), engine.clock.now_ms()))
    first = min(HEAD_MAX, READ_AHEAD + (wanted + held) // len(rows))
    heads: dict[int, Head] = {}
    further = dict.fromkeys(rows, first)
    while further:
        looks = [partial(look, engine, queue, row, limit) for row, limit in further.items()]
        heads |= {head.row: head for head in await side_by_side(looks, _ROWS_AT_ONCE)}
        further = {head.row: min(HEAD_MAX, head.limit * _FURTHER) for head in behind(list(heads.values()), wanted)}
    return merged(list(heads.values()))


def merged(heads: Sequence[Head]) -> list[Free]:
    """Those certain to be the oldest, oldest first."""
    ends = [head.end for head in heads if head.end is not None]
    free = sorted((one for head in heads for one in head.free), key=lambda one: one[0].address)
    return [one for one in free if one[0].address <= min(ends)] if ends else free


def behind(heads: Sequence[Head], wanted: int) -> list[Head]:
    """Heads that must be read further to make the `wanted` oldest certain."""
    if len(merged(heads)) >= wanted:
        return []
    addresses = sorted(message.address for head in heads for message, _ in head.free)
    last = addresses[wanted - 1] if len(addresses) >= wanted else None
    return [head for head in heads if head.end is not None and (last is None or head.end < last)]
