"""The consistency level of each kind of request, and how many requests may be in flight."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

import pytest
from cassandra import ConsistencyLevel

from cqs.errors import CqsError, StoreUnavailable
from cqs.store.cassandra import Options
from cqs.store.cassandra import statements as cql
from cqs.store.cassandra.cluster import CATALOGUE, DECIDE, MESSAGES, PLAIN, REPLICAS, WAITING_MAX, make_cluster
from cqs.store.cassandra.session import Session, Write


@pytest.mark.parametrize("is_each, level", [(False, "LOCAL_QUORUM"), (True, "EACH_QUORUM")])
def test_messages_and_what_a_queue_is_alone_may_have_to_reach_every_data_centre(is_each: bool, level: str) -> None:
    made = make_cluster(Options(is_each=is_each))
    try:
        profiles = dict(made.profile_manager.profiles)
    finally:
        made.shutdown()
    levels = {name: profile.consistency_level for name, profile in profiles.items()}

    assert levels[MESSAGES] == levels[CATALOGUE] == getattr(ConsistencyLevel, level)
    assert profiles[CATALOGUE].serial_consistency_level == ConsistencyLevel.SERIAL
    assert levels[REPLICAS] == ConsistencyLevel.ALL
    assert levels[PLAIN] == levels[DECIDE] == ConsistencyLevel.LOCAL_QUORUM
    assert profiles[DECIDE].serial_consistency_level == ConsistencyLevel.LOCAL_SERIAL


class _Sent(Exception):
    pass


@pytest.fixture
async def busy() -> Session:
    """A session with the maximum number of requests in flight. Sending another one raises _Sent."""
    session = Session(Options())
    session._loop = asyncio.get_running_loop()
    session._waiting = {session._loop.create_future() for _ in range(WAITING_MAX)}
    bound = SimpleNamespace(bind=lambda values: SimpleNamespace())
    session._prepared = dict.fromkeys(cql.ALL, bound)

    def execute_async(*_: object, **__: object) -> None:
        raise _Sent

    session._session = SimpleNamespace(execute_async=execute_async)
    return session


async def test_more_requests_than_there_are_streams_for_are_refused_before_they_are_sent(busy: Session) -> None:
    for call in (
        busy.read(cql.FIND_QUEUE, ("a", "b")),
        busy.all(cql.ALL_QUEUES),
        busy.write([Write(cql.INSERT_MESSAGE, ())]),
        busy.decide([Write(cql.CREATE_QUEUE, ())]),
    ):
        with pytest.raises(StoreUnavailable, match="is behind: 8000 requests wait for an answer"):
            await call


async def test_a_node_with_the_maximum_of_requests_in_flight_still_sends_heartbeats(busy: Session) -> None:
    for call in (
        busy.read(cql.READ_NODES, ("dc1",)),
        busy.all(cql.NEWS_STAMPS, (1,)),
        busy.write([Write(cql.BEAT, ())]),
        busy.decide([Write(cql.RENEW_LEAD, ())]),
    ):
        with pytest.raises(CqsError) as told:
            await call
        assert isinstance(told.value.__cause__, _Sent)


async def test_a_data_centre_may_decide_alone_what_a_queue_is() -> None:
    session = Session(Options())
    session._prepared = {cql.CREATE_QUEUE: SimpleNamespace(bind=lambda values: SimpleNamespace())}
    session._loop = asyncio.get_running_loop()
    asked: list[str] = []

    def execute_async(_: object, execution_profile: str, **__: object) -> None:
        asked.append(execution_profile)
        raise _Sent

    session._session = SimpleNamespace(execute_async=execute_async)
    for is_here in (False, True):
        with pytest.raises(CqsError):
            await session.decide([Write(cql.CREATE_QUEUE, ())], is_here=is_here)

    assert asked == [CATALOGUE, DECIDE]


@pytest.mark.parametrize("is_each", [False, True])
def test_it_may_unless_all_must(is_each: bool) -> None:
    assert Session(Options(is_each=is_each)).may_decide_alone is not is_each
