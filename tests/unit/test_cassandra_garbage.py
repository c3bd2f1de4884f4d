"""Deletions that a dead node had begun."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from cqs.queue import GENERATION_BITS
from cqs.store.cassandra import statements as cql
from cqs.store.cassandra.messages import Messages
from cqs.store.cassandra.session import Session
from cqs.store.cassandra.sweeping import Sweeping
from cqs.testing.clock import ManualClock

USED, PURGED, GONE = 7 << GENERATION_BITS | 3, 7 << GENERATION_BITS | 2, 8 << GENERATION_BITS


async def test_a_generation_that_is_in_use_again_is_not_deleted() -> None:
    """Two data centres concurrently made a purge and a change, and the change won."""
    dropped: set[int] = set()
    forgotten: list[object] = []

    async def drop(storage_id: int, row: int, stamp: int) -> None:
        dropped.add(storage_id)

    async def rows(statement: cql.Statement, values: object = ()) -> list[tuple[int, ...]]:
        return [(one, 0) for one in (USED, PURGED, GONE)] if statement is cql.ALL_GARBAGE else []

    async def decide(writes: list[Any]) -> None:
        forgotten.extend(write.values[0] for write in writes)

    async def write(writes: object) -> None:
        pass

    async def living() -> set[int]:
        return {USED}

    session = SimpleNamespace(all=rows, read=rows, write=write, decide=decide, datacenter="dc1")
    messages = SimpleNamespace(drop=drop)
    sweeping = Sweeping(cast(Session, session), cast(Messages, messages), ManualClock(), 1)

    await sweeping.adopt(living)
    await sweeping.rest()

    assert dropped == {PURGED, GONE}
    assert forgotten == [GONE >> GENERATION_BITS]
