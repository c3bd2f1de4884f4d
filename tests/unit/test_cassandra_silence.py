"""How long a call waits for Cassandra, and that calls are refused at once while no request is answered."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest
from cassandra import OperationTimedOut, Unavailable, WriteTimeout, WriteType
from cassandra.connection import ConnectionShutdown

from cqs.errors import CqsError, OutcomeUnknown, StoreUnavailable
from cqs.store.cassandra import Options
from cqs.store.cassandra import statements as cql
from cqs.store.cassandra.coordination import PROBES, CassandraCoordination
from cqs.store.cassandra.reactor import connections_of
from cqs.store.cassandra.session import RETRY_S_MIN, Session, Write
from cqs.store.cassandra.statements import Statement
from cqs.testing.clock import ManualClock

REQUEST_S = Options().request_ms / 1_000
NO_ANSWER = OperationTimedOut()
TOO_FEW_ANSWERS = WriteTimeout("", required_responses=2, received_responses=1, write_type=WriteType.SIMPLE)
HUNG_UP = ConnectionShutdown("closed")
NO_QUORUM = Unavailable("", required_replicas=2, alive_replicas=1)
WRITE = [Write(cql.INSERT_LATE, ())]
Outcome = Exception | list[object]


class Nodes:
    """Replaces the driver. Each request takes the time given for it, at most its timeout, and has the outcome given for
    it; the last one is repeated. `is_half_down`: as the driver knows."""

    def __init__(self, *outcomes: tuple[float, Outcome], is_half_down: bool = True) -> None:
        self.now_s = 100.0
        self.is_half_down = is_half_down
        self.outcomes = list(outcomes)
        self.asked: list[tuple[str, float]] = []
        """The statements and timeouts of the requests."""

    def execute_async(self, query: str, *, timeout: float, **_: object) -> Nodes:
        self.asked.append((query, timeout))
        took_s, self._outcome = self.outcomes.pop(0) if len(self.outcomes) > 1 else self.outcomes[0]
        self.now_s += min(took_s, timeout)
        self.attempted_hosts, self._paging_state = ["node"], None
        return self

    def add_callbacks(
        self, done: Callable[..., None], failed: Callable[..., None], arguments: Any, _: object, more: Any
    ) -> None:
        if isinstance(self._outcome, Exception):
            failed(self._outcome, *more)
        else:
            done(self._outcome, *arguments)


class _Session(Session):
    def __init__(self, nodes: Nodes) -> None:
        super().__init__(Options(), lambda: nodes.now_s)
        self._nodes = nodes

    @property
    def is_half_down(self) -> bool:
        return self._nodes.is_half_down


def session_of(nodes: Nodes) -> Session:
    session = _Session(nodes)
    session._loop = asyncio.get_running_loop()
    session._reactor = connections_of(session._loop)
    session._session = cast(Any, nodes)

    def prepared(statement: Statement) -> object:
        return SimpleNamespace(bind=lambda _: statement.cql)

    session._prepared = {statement: prepared(statement) for statement in cql.ALL}
    return session


async def outcome_of(call: Any) -> Exception | None:
    try:
        await call
    except CqsError as error:
        return error
    return None


async def test_while_all_nodes_seem_to_be_up_a_retry_gets_as_long_again() -> None:
    """They may pause together, for longer than one attempt lasts."""
    nodes = Nodes((9.0, NO_ANSWER), (0.1, []), is_half_down=False)

    await session_of(nodes).write(WRITE)

    assert [timeout for _, timeout in nodes.asked] == [REQUEST_S, REQUEST_S]


async def test_while_all_nodes_seem_to_be_up_silence_is_longer_than_one_attempt() -> None:
    nodes = Nodes((9.0, NO_ANSWER), is_half_down=False)
    session = session_of(nodes)

    assert isinstance(await outcome_of(session.decide([Write(cql.CREATE_QUEUE, ())])), OutcomeUnknown)
    assert isinstance(await outcome_of(session.write(WRITE)), OutcomeUnknown)

    assert len(nodes.asked) == 3
    with pytest.raises(StoreUnavailable, match="no request was answered"):
        await session.write(WRITE)
    await session.close()


async def test_a_retry_gets_what_the_first_attempt_has_left_of_the_time() -> None:
    nodes = Nodes((2.0, TOO_FEW_ANSWERS), (0.1, []))

    await session_of(nodes).write(WRITE)

    assert [timeout for _, timeout in nodes.asked] == [REQUEST_S, pytest.approx(REQUEST_S - 2.0)]


async def test_a_call_that_used_up_its_time_is_not_tried_again() -> None:
    nodes = Nodes((9.0, NO_ANSWER))

    assert isinstance(await outcome_of(session_of(nodes).write(WRITE)), OutcomeUnknown)

    assert len(nodes.asked) == 1


async def test_a_write_that_waited_for_others_gets_what_they_left_of_the_time() -> None:
    nodes = Nodes((9.0, NO_ANSWER))
    session = session_of(nodes)

    for waited_s in (2.0, 9.0):
        began_s = nodes.now_s
        assert isinstance(await outcome_of(session.write(WRITE, began_s - waited_s)), OutcomeUnknown)

    assert [timeout for _, timeout in nodes.asked] == [pytest.approx(REQUEST_S - 2.0), RETRY_S_MIN]


async def test_while_all_nodes_seem_to_be_up_a_write_that_waited_gets_as_long_as_any() -> None:
    nodes = Nodes((9.0, NO_ANSWER), (0.1, []), is_half_down=False)

    await session_of(nodes).write(WRITE, nodes.now_s - 5.0)

    assert [timeout for _, timeout in nodes.asked] == [REQUEST_S, REQUEST_S]


async def test_a_write_is_tried_again_when_its_connection_breaks() -> None:
    nodes = Nodes((0.1, HUNG_UP), (0.1, []))

    await session_of(nodes).write(WRITE)

    assert len(nodes.asked) == 2


async def test_calls_are_refused_unsent_after_one_that_nobody_answered() -> None:
    nodes = Nodes((9.0, NO_ANSWER))
    session = session_of(nodes)
    await outcome_of(session.write(WRITE))
    sent = len(nodes.asked)

    for call in (
        session.write(WRITE),
        session.read(cql.FIND_QUEUE, ("a", "b")),
        session.all(cql.ALL_QUEUES),
        session.decide([Write(cql.CREATE_QUEUE, ())]),
        session.write([Write(cql.MARK_DIRTY, ())]),
    ):
        with pytest.raises(StoreUnavailable, match=r"no request was answered for 3 s\. Nothing was written"):
            await call

    assert len(nodes.asked) == sent
    await session.close()


async def test_what_finds_out_whether_cassandra_answers_is_sent_though_nobody_does() -> None:
    nodes = Nodes((9.0, NO_ANSWER))
    session = session_of(nodes)
    await outcome_of(session.write(WRITE))

    assert isinstance(await outcome_of(session.write([Write(cql.BEAT, ())])), OutcomeUnknown)
    assert not await CassandraCoordination(session, ManualClock()).is_reached()

    asked = [statement for statement, _ in nodes.asked[1:]]
    assert asked.count(cql.BEAT.cql) == 1
    assert asked.count(cql.PROBE.cql) >= PROBES
    await session.close()


@pytest.mark.parametrize("statement", [cql.BEAT, cql.PROBE], ids=["heartbeat", "probe"])
async def test_calls_are_accepted_again_once_a_request_is_answered(statement: Statement) -> None:
    nodes = Nodes((9.0, NO_ANSWER))
    session = session_of(nodes)
    await outcome_of(session.write(WRITE))
    nodes.outcomes = [(0.1, [])]

    if statement is cql.BEAT:
        await session.write([Write(cql.BEAT, ())])
    else:
        await asyncio.sleep(0)

    assert nodes.asked[-1][0] == statement.cql
    await session.write(WRITE)
    await session.close()


@pytest.mark.parametrize("failure", [(1.4, TOO_FEW_ANSWERS), (0.0, NO_QUORUM), (9.0, NO_QUORUM)])
async def test_what_fails_soon_or_with_an_answer_is_no_silence(failure: tuple[float, Exception]) -> None:
    nodes = Nodes(failure, (0.0, NO_QUORUM))
    session = session_of(nodes)

    await outcome_of(session.write(WRITE))

    nodes.outcomes = [(0.1, [])]
    await session.write(WRITE)


async def test_one_unanswered_call_among_others_that_are_answered_is_no_silence() -> None:
    nodes = Nodes((0.1, []))
    session = session_of(nodes)
    began_s = nodes.now_s
    nodes.now_s += REQUEST_S
    await session.write(WRITE)

    session._silence.unanswered(began_s, REQUEST_S / 2)

    await session.write(WRITE)


async def test_the_clock_of_a_node_that_has_lost_the_others_is_no_answer() -> None:
    nodes = Nodes((9.0, NO_ANSWER))
    session = session_of(nodes)
    await outcome_of(session.write(WRITE))
    nodes.outcomes = [(0.1, [("now",)]), (9.0, NO_ANSWER)]

    await session.read(cql.READ_NOW, ())

    with pytest.raises(StoreUnavailable, match="no request was answered"):
        await session.write(WRITE)
    await session.close()


async def test_a_session_that_is_closed_sends_no_more_probes() -> None:
    nodes = Nodes((9.0, NO_ANSWER))
    session = session_of(nodes)
    await outcome_of(session.write(WRITE))

    await session.close()

    assert session._silence._probing is not None
    assert session._silence._probing.done()
