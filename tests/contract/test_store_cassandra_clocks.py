"""Wrong clocks and slow writes: a clock that runs ahead must not hide messages from other nodes or lose what is in
flight, and a write that takes too long must not end up below a mark."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any, cast

import msgspec
import pytest

from cqs.errors import StoreUnavailable
from cqs.queue import Queue
from cqs.store.cassandra import CassandraStore
from cqs.store.cassandra import statements as cql
from cqs.store.cassandra.addresses import at_of_ms
from cqs.store.cassandra.cluster import PLAIN
from cqs.store.cassandra.earlier_clock import EarlierClock, store_ms
from cqs.store.cassandra.marks import TRAIL_MS, Marks
from cqs.store.cassandra.messages import Messages
from cqs.store.cassandra.partitions import WAIT_S_MAX, Partitions
from cqs.store.cassandra.session import Session
from cqs.store.cassandra.statements import Statement
from cqs.testing.clock import ManualClock
from tests.contract.cassandra_home import CassandraHome, OnCassandra
from tests.contract.store_home import Maker, held, lease_of
from tests.contract.test_store_cassandra_parts import Writer, turns, write
from tests.contract.test_store_cassandra_scan import Cassandra
from tests.needs import needs

MINUTE_MS, HOUR_MS = 60_000, 3_600_000


@needs("java", "mvn")
@pytest.mark.slow
class TestAhead(OnCassandra):
    @pytest.fixture
    async def queue(self, store: CassandraStore, make: Maker, clock: ManualClock) -> Queue:
        clock.set_ms(await store_ms(store.session))
        return await store.create(make.queue())

    @pytest.fixture
    async def ahead(
        self, store: CassandraStore, queue: Queue, home: CassandraHome, clock: ManualClock
    ) -> AsyncIterator[CassandraStore]:
        """The store of another node, whose clock is an hour ahead of Cassandra and of the other nodes."""
        ahead = CassandraStore(home.options, ManualClock(clock.now_ms() + HOUR_MS))
        await ahead.open()
        yield ahead
        await ahead.close()

    async def test_it_moves_no_mark_past_what_others_send(
        self, store: CassandraStore, ahead: CassandraStore, queue: Queue, make: Maker, home: CassandraHome
    ) -> None:
        assert await ahead.head(queue, 0, 10) == []
        await ahead.marks.advance(queue, 0)
        await ahead.swept()

        message = make.message()
        await store.append(queue, [message])

        for node in (await home.open(), ahead):
            assert await node.head(queue, 0, 10) == [message]
            assert await held(node, queue) == [message.address]

    async def test_it_reads_what_a_short_retention_keeps(
        self, store: CassandraStore, ahead: CassandraStore, queue: Queue, make: Maker
    ) -> None:
        settings = msgspec.structs.replace(queue.settings, retention_ms=MINUTE_MS)
        short = msgspec.structs.replace(queue, settings=settings)
        message = make.message()
        await store.append(short, [message])

        assert await held(ahead, short) == [message.address]

    async def test_it_knows_the_living_leases(
        self, store: CassandraStore, ahead: CassandraStore, queue: Queue, make: Maker, clock: ManualClock
    ) -> None:
        message = make.message()
        lease = lease_of(message, until_ms=clock.now_ms() + MINUTE_MS)
        await store.append(queue, [message])
        await store.lease(queue, [lease])

        assert await ahead.leases(queue, [message.address]) == [lease]
        assert [one.lease async for page in ahead.scan(queue) for one in page] == [lease]


class Slow(Cassandra):
    """A session that takes two minutes to read a row."""

    def __init__(self, clock: ManualClock) -> None:
        super().__init__({})
        self._clock = clock

    async def read(self, statement: Statement, values: Sequence[Any], profile: str = PLAIN) -> list[tuple[Any, ...]]:
        found = await super().read(statement, values, profile)
        if statement is cql.HEAD_MESSAGES:
            self._clock.advance_ms(2 * MINUTE_MS)
        return found


async def test_a_read_that_takes_long_moves_no_mark_past_what_was_sent_meanwhile() -> None:
    clock = ManualClock()
    began_ms = clock.now_ms()
    session = cast(Session, Slow(clock))
    marks = Marks(session, clock, EarlierClock(session, clock))
    messages = Messages(session, Partitions(session.write), marks, clock)
    queue = Queue(account="0" * 12, name="q", region="r", uid=1, created_ms=began_ms - HOUR_MS, modified_ms=1)

    assert await messages.head(queue, 0, 10) == []
    await marks.rest()

    assert marks.floor(queue, 0) == at_of_ms(began_ms - TRAIL_MS)


async def test_what_has_waited_too_long_to_be_written_is_given_up() -> None:
    now_s, writer = 0.0, Writer()
    partitions = Partitions(writer.write, lambda: now_s)
    writer.gate.clear()
    first = asyncio.ensure_future(partitions.write("a", [write(1)]))
    await turns()
    late = asyncio.ensure_future(partitions.write("a", [write(2)]))
    await turns()
    now_s = WAIT_S_MAX
    young = asyncio.ensure_future(partitions.write("a", [write(3)]))
    await turns()

    writer.gate.set()
    await asyncio.gather(first, young)
    with pytest.raises(StoreUnavailable, match="Nothing was written"):
        await late
    await partitions.rest()

    assert writer.batches == [[write(1)], [write(3)]]
