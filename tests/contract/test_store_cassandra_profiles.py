"""How many copies have to answer, by what is asked, and how much may be asked at a time."""

from __future__ import annotations

import asyncio

import pytest
from cassandra import ConsistencyLevel

from cqs.errors import StoreUnavailable
from cqs.store.cassandra import Options
from cqs.store.cassandra.cluster import CATALOGUE, DECIDE, MESSAGES, PLAIN, WAITING_MAX, make_cluster
from cqs.store.cassandra.session import Session
from cqs.store.cassandra.statements import Kind


@pytest.mark.parametrize(
    "is_each, level, decision", [(False, "LOCAL_QUORUM", "LOCAL_SERIAL"), (True, "EACH_QUORUM", "SERIAL")]
)
def test_messages_and_what_a_queue_is_alone_may_have_to_reach_every_data_centre(
    is_each: bool, level: str, decision: str
) -> None:
    made = make_cluster(Options(is_each=is_each))
    try:
        profiles = dict(made.profile_manager.profiles)
    finally:
        made.shutdown()
    levels = {name: profile.consistency_level for name, profile in profiles.items()}

    assert levels[MESSAGES] == levels[CATALOGUE] == getattr(ConsistencyLevel, level)
    assert profiles[CATALOGUE].serial_consistency_level == getattr(ConsistencyLevel, decision)
    assert levels[PLAIN] == levels[DECIDE] == ConsistencyLevel.LOCAL_QUORUM
    assert profiles[DECIDE].serial_consistency_level == ConsistencyLevel.LOCAL_SERIAL


async def test_more_requests_than_there_are_streams_for_are_refused_before_they_are_sent() -> None:
    session = Session(Options())
    session._loop = asyncio.get_running_loop()
    session._waiting = {session._loop.create_future() for _ in range(WAITING_MAX)}

    with pytest.raises(StoreUnavailable, match="is behind: 8000 requests wait for an answer"):
        await session._once(None, Kind.WRITE, PLAIN)
