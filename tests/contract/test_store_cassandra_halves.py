"""Calls that succeed only in part: no caller is told that nothing was done, and nothing is lost."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, cast

import msgspec
import pytest
from cassandra import OperationTimedOut, Unavailable

from cqs.errors import OutcomeUnknown, StoreUnavailable
from cqs.message import Message
from cqs.queue import Queue
from cqs.store.cassandra import CassandraStore, Options
from cqs.store.cassandra import statements as cql
from cqs.store.cassandra.claims import APPEND_MS_MAX
from cqs.store.cassandra.coordination import CassandraCoordination
from cqs.store.cassandra.reactor import connections_of
from cqs.store.cassandra.session import Decision, Row, Session, Write
from cqs.store.cassandra.statements import Statement
from cqs.store.cassandra.takeovers import PENDING_MS, SKEW_MS_MAX
from cqs.store.coordination import News
from cqs.store.interface import Move, Wanted
from cqs.testing.clock import ManualClock
from tests.contract.cassandra_home import CassandraHome, OnCassandra
from tests.contract.store_home import Maker, held
from tests.needs import needs

NO_QUORUM = Unavailable("", required_replicas=2, alive_replicas=1)
NO_ANSWER = OperationTimedOut()


class Driver:
    """Replaces the driver: defines how each request fails, and counts the nodes it was sent to."""

    def __init__(self, *failures: tuple[Exception, int]) -> None:
        self._failures = list(failures)

    def bind(self, _: object) -> object:
        return object()

    def execute_async(self, *_: object, **__: object) -> Driver:
        self._error, count = self._failures.pop(0)
        self.attempted_hosts = ["node"] * count
        return self

    def add_callbacks(self, _: object, failed: Callable[..., None], *arguments: Any) -> None:
        failed(self._error, *arguments[-1])


@pytest.mark.parametrize(
    ("failures", "expected"),
    [
        ([(NO_QUORUM, 1)], StoreUnavailable),
        ([(NO_QUORUM, 2)], OutcomeUnknown),
        ([(NO_ANSWER, 1), (NO_ANSWER, 1)], OutcomeUnknown),
        ([(NO_ANSWER, 1), (NO_QUORUM, 1)], OutcomeUnknown),
    ],
    ids=["refused", "refused by the second node that was asked", "no answer twice", "no answer, then refused"],
)
async def test_a_write_of_which_one_attempt_had_no_answer_may_have_happened(
    failures: list[tuple[Exception, int]], expected: type[Exception]
) -> None:
    session, driver = Session(Options()), Driver(*failures)
    session._loop = asyncio.get_running_loop()
    session._reactor = connections_of(session._loop)
    session._session, session._prepared = cast(Any, driver), {cql.INSERT_LATE: driver}

    with pytest.raises(expected):
        await session.write([Write(cql.INSERT_LATE, ())])


class OnePartitionAway:
    """A session that reads news, but fails for those of the next minute until `is_whole`."""

    datacenter = "dc1"

    def __init__(self, minute: int) -> None:
        self._minute = minute
        self.is_whole = False

    async def all(self, _: Statement, values: Sequence[int]) -> list[Row]:
        if values[0] > self._minute and not self.is_whole:
            raise StoreUnavailable("no quorum")
        return [("stamp",)] if values[0] == self._minute else []

    async def read(self, *_: object) -> list[Row]:
        return [("stamp", "queue", "orders")]


async def test_news_that_was_read_while_other_news_could_not_be_is_heard_later() -> None:
    clock = ManualClock()
    session = OnePartitionAway(clock.now_ms() // 60_000)
    coordination = CassandraCoordination(cast(Session, session), clock)

    with pytest.raises(StoreUnavailable):
        await coordination.news()
    session.is_whole = True

    assert await coordination.news() == [News("queue", "orders")]
    assert await coordination.news() == []


@needs("java", "mvn")
@pytest.mark.slow
class TestStore(OnCassandra):
    async def test_a_move_that_fails_after_it_began_is_made_again_and_arrives_once(
        self, store: CassandraStore, queue: Queue, make: Maker, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        target, message = await store.create(make.queue("dead")), make.message()
        await store.append(queue, [message])
        move = Move(message.address, msgspec.structs.replace(message, address=make.address()))
        existing, calls = store.messages.existing, 0

        async def second_fails(storage_id: int, addresses: Sequence[int]) -> set[int]:
            nonlocal calls
            calls += 1
            if calls == 2:
                raise StoreUnavailable("no quorum")
            return await existing(storage_id, addresses)

        monkeypatch.setattr(store.messages, "existing", second_fails)
        with pytest.raises(OutcomeUnknown):
            await store.move(queue, target, [move])

        assert await store.move(queue, target, [move]) == [move.message]
        assert await held(store, queue) == []
        assert await held(store, target) == [move.message.address]

    async def test_a_queue_that_is_dropped_is_dropped_though_that_can_not_be_noted(
        self, store: CassandraStore, queue: Queue, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        write = store.session.write

        async def not_noted(writes: Sequence[Write]) -> None:
            if writes[0].statement is cql.NOTE_DROPPED:
                raise StoreUnavailable("no quorum")
            await write(writes)

        monkeypatch.setattr(store.session, "write", not_noted)

        assert await store.drop(queue, 1)
        assert await store.find(queue.key) is None


@needs("java", "mvn")
@pytest.mark.slow
class TestClaims(OnCassandra):
    @pytest.fixture
    async def queue(self, store: CassandraStore, make: Maker) -> Queue:
        return await store.create(make.fifo())

    @pytest.fixture
    async def claimed(self, store: CassandraStore, queue: Queue, make: Maker) -> Message:
        message = make.message(group="g", dedup_id="d")
        (claim,) = await store.claim(queue, [Wanted("", "d", message.address)], 300_000)
        return msgspec.structs.replace(message, sequence=claim.sequence)

    async def test_an_append_is_not_acknowledged_once_a_node_whose_clock_is_ahead_has_taken_its_id_over(
        self,
        store: CassandraStore,
        home: CassandraHome,
        queue: Queue,
        make: Maker,
        clock: ManualClock,
        claimed: Message,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        append = store.messages.append
        other = CassandraStore(home.options, ManualClock(clock.now_ms() + PENDING_MS))
        await other.open()

        async def slow(storage_id: int, messages: list[Message], *, confirmed_s: int) -> None:
            clock.advance_ms(PENDING_MS - SKEW_MS_MAX // 2)
            (claim,) = await other.claim(queue, [Wanted("", "d", make.address())], 300_000)
            assert claim.is_new
            await append(storage_id, messages, confirmed_s=confirmed_s)

        monkeypatch.setattr(store.messages, "append", slow)
        with pytest.raises(OutcomeUnknown):
            await store.append(queue, [claimed])
        await other.close()

        assert await held(store, queue) == []

    async def test_a_claim_is_as_old_as_the_call_that_made_it(
        self, store: CassandraStore, queue: Queue, make: Maker, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        decide, message = store.session.decide, make.message(group="g", dedup_id="d")

        async def slow(writes: Sequence[Write]) -> Decision:
            decision = await decide(writes)
            clock.advance_ms(APPEND_MS_MAX + 1)
            return decision

        monkeypatch.setattr(store.session, "decide", slow)
        await store.claim(queue, [Wanted("", "d", message.address)], 300_000)

        with pytest.raises(StoreUnavailable):
            await store.append(queue, [message])

    async def test_an_append_that_is_done_is_never_told_as_not_done(
        self,
        store: CassandraStore,
        queue: Queue,
        clock: ManualClock,
        claimed: Message,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        async def no_quorum(_: int, __: Sequence[int]) -> set[int]:
            clock.advance_ms(PENDING_MS)
            raise StoreUnavailable("no quorum")

        append = store.messages.append

        async def slow(storage_id: int, messages: list[Message], *, confirmed_s: int) -> None:
            await append(storage_id, messages, confirmed_s=confirmed_s)
            clock.advance_ms(PENDING_MS)

        with monkeypatch.context() as patch:
            patch.setattr(store.messages, "append", slow)
            patch.setattr(store.messages, "confirmed", no_quorum)
            with pytest.raises(OutcomeUnknown):
                await store.append(queue, [claimed])

        assert await held(store, queue) == [claimed.address]
