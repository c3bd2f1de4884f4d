"""Claims as rows: taking, taking over and giving up, all by conditional batches in the queue's one partition.

UPDATE claims SET last_sequence = 1042 WHERE queue_uid = ? IF last_sequence = 1040      ┐ all
INSERT INTO claims … dedup 'a', sequence 1041 … IF NOT EXISTS                           │ or
UPDATE claims SET … dedup 'b', sequence 1042 … IF at = … AND tail = …  (its window ended)┘ none
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from cqs import ids
from cqs.queue import Queue
from cqs.store.cassandra import statements as cql
from cqs.store.cassandra.session import Named, Session, Write, whole
from cqs.store.interface import Wanted

TTL_MARGIN_MS = 600_000
"""How much longer a row is kept than its window, to allow for clock skew."""

Id = tuple[str, str]
"""(scope, deduplication id)"""


class Found(NamedTuple):
    """A stored claim."""

    address: int
    sequence: int
    claimed_ms: int
    expires_ms: int


class Take(NamedTuple):
    """A request about to be granted. `old`: the claim it replaces."""

    wish: Wanted
    sequence: int
    expires_ms: int
    old: Found | None


def set_sequence(queue: Queue, old: int | None, new: int) -> Write:
    return Write(cql.SET_SEQUENCE, (new, queue.uid, old))


def take(queue: Queue, one: Take, now_ms: int) -> Write:
    """Writes the claim into an empty place, or into that of `old`."""
    wish = one.wish
    address = (ids.key_of(wish.address), ids.tail_of(wish.address))
    key = (queue.uid, queue.generation, wish.scope, wish.dedup_id)
    ttl_s = max(1, (one.expires_ms - now_ms + TTL_MARGIN_MS) // 1_000)
    if one.old is None:
        return Write(cql.TAKE_CLAIM, (*key, *address, one.sequence, now_ms, one.expires_ms, ttl_s))
    old = (ids.key_of(one.old.address), ids.tail_of(one.old.address))
    return Write(cql.TAKE_OVER_CLAIM, (ttl_s, *address, one.sequence, now_ms, one.expires_ms, *key, *old))


def give_up(queue: Queue, key: Id, address: int) -> Write:
    """Deletes the claim, if this address still holds it."""
    return Write(cql.GIVE_UP_CLAIM, (queue.uid, queue.generation, *key, ids.key_of(address), ids.tail_of(address)))


def last_sequence(rows: Sequence[Named], known: int | None) -> int | None:
    """The last sequence according to the rows of a refused batch; `known` if they do not contain it."""
    for row in rows:
        if row.get("last_sequence") is not None:
            return int(row["last_sequence"])
    return known


async def keys_in(session: Session, queue: Queue, scope: str) -> list[Id]:
    """The ids with a claim in this scope."""
    pages = session.pages(cql.CLAIMS_IN_SCOPE, (queue.uid, queue.generation, scope))
    return [(scope, dedup_id) async for page in pages for (dedup_id,) in page]


async def read(session: Session, queue: Queue, keys: Sequence[Id]) -> dict[Id, Found]:
    """The claims that exist."""
    rows = await session.read(cql.READ_CLAIMS, (queue.uid, queue.generation, list(keys)))
    return {
        (scope, dedup_id): Found(ids.pack(at, tail), sequence, claimed_ms, expires_ms)
        for scope, dedup_id, at, tail, sequence, claimed_ms, expires_ms in whole(rows)
    }
