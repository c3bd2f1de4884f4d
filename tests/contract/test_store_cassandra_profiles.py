"""How many copies have to answer, by what is asked."""

from __future__ import annotations

import pytest
from cassandra import ConsistencyLevel

from cqs.store.cassandra import Options
from cqs.store.cassandra.cluster import DECIDE, MESSAGES, PLAIN, make_cluster


@pytest.mark.parametrize("is_each, level", [(False, "LOCAL_QUORUM"), (True, "EACH_QUORUM")])
def test_messages_alone_may_have_to_reach_every_data_centre(is_each: bool, level: str) -> None:
    made = make_cluster(Options(is_each=is_each))
    try:
        levels = {name: profile.consistency_level for name, profile in made.profile_manager.profiles.items()}
    finally:
        made.shutdown()

    assert levels[MESSAGES] == getattr(ConsistencyLevel, level)
    assert levels[PLAIN] == levels[DECIDE] == ConsistencyLevel.LOCAL_QUORUM
