"""The requests of a queue scan to Cassandra, counted by a fake session."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import Any, cast

import pytest

from cqs.queue import Queue
from cqs.store.cassandra import statements as cql
from cqs.store.cassandra.addresses import address_of, at_of_ms
from cqs.store.cassandra.cluster import PLAIN
from cqs.store.cassandra.earlier_clock import EarlierClock
from cqs.store.cassandra.failures import TooMuchToRead
from cqs.store.cassandra.leases import Leases
from cqs.store.cassandra.marks import Marks
from cqs.store.cassandra.messages import Messages
from cqs.store.cassandra.partitions import Partitions
from cqs.store.cassandra.scan import OCCUPIED_AT_ONCE, scan
from cqs.store.cassandra.session import Session
from cqs.store.cassandra.statements import Statement
from cqs.testing.clock import ManualClock

ROWS = 100


class Cassandra:
    """A fake session with messages by row, sent at these times (ms). `late`: addresses in a row below its mark."""

    datacenter = "dc1"

    def __init__(self, messages: dict[int, list[int]], late: Sequence[tuple[int, int]] = ()) -> None:
        self.messages = {row: sorted(map(at_of_ms, times)) for row, times in messages.items()}
        self.late = [(row, at_of_ms(ms), 0) for row, ms in late]
        self.asked: Counter[Statement] = Counter()
        self.unreadable: set[int] = set()
        self.now = datetime(2100, 1, 1)

    async def read(self, statement: Statement, values: Sequence[Any], profile: str = PLAIN) -> list[tuple[Any, ...]]:
        self.asked[statement] += 1
        if statement is cql.READ_NOW:
            return [(self.now,)]
        if statement is cql.OCCUPIED_ROWS:
            _, rows, start_at = values
            if self.unreadable.intersection(rows):
                raise TooMuchToRead("tombstones")
            return [(row,) for row in rows if any(at >= start_at for at in self.messages.get(row, ()))]
        if statement is cql.SCAN_MESSAGES:
            _, row, at, _, before, limit = values
            found = [one for one in self.messages.get(row, ()) if at < one < before]
            return [(one, 0, None, None, None, None) for one in found[:limit]]
        if statement is cql.FIND_STORED:
            _, row, places = values
            return [(at, 0, None, None, None, None) for at, _ in places if at in self.messages.get(row, ())]
        return []

    async def all(self, statement: Statement, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        return self.late if statement is cql.READ_LATE else []

    async def write(self, writes: Sequence[Any], since_s: float = 0.0) -> None:
        self.asked.update(write.statement for write in writes)


async def scanned(cassandra: Cassandra, clock: ManualClock, *, is_deep: bool = False) -> list[int]:
    """Returns the addresses that a scan finds, sorted."""
    session = cast(Session, cassandra)
    time = EarlierClock(session, clock)
    marks = Marks(session, clock, time)
    partitions = Partitions(session.write)
    messages, leases = Messages(session, partitions, marks, clock), Leases(session, partitions, clock, time)
    queue = Queue(account="0" * 12, name="q", region="r", uid=1, created_ms=clock.now_ms() - 9_000_000, modified_ms=1)
    found = [one.address async for page in scan(messages, leases, marks, queue, ROWS, is_deep=is_deep) for one in page]
    await marks.rest()
    return sorted(found)


def addresses(messages: dict[int, list[int]]) -> list[int]:
    return sorted(address_of(row, at_of_ms(ms), 0) for row, times in messages.items() for ms in times)


@pytest.mark.parametrize("is_deep", [False, True])
async def test_an_empty_queue_costs_a_few_queries_and_no_writes(is_deep: bool) -> None:
    cassandra = Cassandra({})

    assert await scanned(cassandra, ManualClock(), is_deep=is_deep) == []

    assert cassandra.asked == {
        cql.READ_NOW: 1,
        cql.READ_MARKS: 1,
        cql.LEASE_MINUTES: 1,
        cql.OCCUPIED_ROWS: ROWS // OCCUPIED_AT_ONCE,
    }


@pytest.mark.parametrize("is_deep", [False, True])
async def test_only_rows_that_hold_something_are_read(is_deep: bool) -> None:
    clock = ManualClock()
    now_ms = clock.now_ms()
    messages = {0: [now_ms - 5], 24: [now_ms - 7, now_ms], 25: [now_ms - 1], 99: [now_ms - 2]}
    cassandra = Cassandra(messages)

    assert await scanned(cassandra, clock, is_deep=is_deep) == addresses(messages)

    assert cassandra.asked[cql.SCAN_MESSAGES] == len(messages)


async def test_rows_that_can_not_be_asked_together_are_read_one_by_one() -> None:
    clock = ManualClock()
    messages = {3: [clock.now_ms()], 60: [clock.now_ms()]}
    cassandra = Cassandra(messages)
    cassandra.unreadable = {7}

    assert await scanned(cassandra, clock) == addresses(messages)

    assert cassandra.asked[cql.SCAN_MESSAGES] == OCCUPIED_AT_ONCE + 1


async def test_what_came_late_is_found_in_a_row_that_is_else_empty() -> None:
    clock = ManualClock()
    before_ms = clock.now_ms() - 10_000_000
    cassandra = Cassandra({50: [before_ms]}, late=[(50, before_ms)])

    assert await scanned(cassandra, clock) == addresses({50: [before_ms]})
    assert cassandra.asked[cql.SCAN_MESSAGES] == 1
