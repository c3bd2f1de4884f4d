"""The short version of every drill. DRILL_SEED repeats a run's choices; the long ones are `make drills`."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator

import pytest

from tests import cassandra_server
from tests.drills.drills import DRILLS, Drill
from tests.drills.place import Kind
from tests.drills.result import perform, why_not
from tests.needs import needs


@pytest.fixture(scope="session")
def ring() -> Iterator[cassandra_server.Ring]:
    """One Cassandra node for all drills."""
    yield from cassandra_server.session()


@pytest.fixture(scope="session")
def ring_of_three() -> Iterator[cassandra_server.Ring]:
    with cassandra_server.Ring(["dc1"] * 3) as ring:
        yield ring


def drills(*kinds: Kind) -> list[Drill]:
    return [drill for drill in DRILLS if drill.kind in kinds]


def seed() -> int:
    return int(os.environ.get("DRILL_SEED") or random.SystemRandom().randrange(10**9))


async def check(drill: Drill, ring: cassandra_server.Ring | None = None) -> None:
    if why_not(drill):
        pytest.skip(why_not(drill))
    result = await perform(drill, seed(), ring=ring)
    print(result)
    assert result.wrong == [], f"seed {result.seed}"


@pytest.mark.slow
@pytest.mark.parametrize("drill", drills(Kind.EMBEDDED), ids=lambda drill: drill.name)
async def test_embedded(drill: Drill) -> None:
    await check(drill)


@pytest.mark.slow
@needs("redis-server")
@pytest.mark.parametrize("drill", drills(Kind.REDIS_SQLITE), ids=lambda drill: drill.name)
async def test_redis(drill: Drill) -> None:
    await check(drill)


@pytest.mark.slow
@needs("redis-server", "java", "mvn")
@pytest.mark.parametrize("drill", drills(Kind.REDIS_CASSANDRA), ids=lambda drill: drill.name)
async def test_redis_and_cassandra(drill: Drill, ring: cassandra_server.Ring) -> None:
    await check(drill, ring)


@pytest.mark.slow
@pytest.mark.timeout(400)
@needs("redis-server", "java", "mvn")
async def test_ring_of_three(ring_of_three: cassandra_server.Ring) -> None:
    for drill in drills(Kind.RING):
        await check(drill, ring_of_three)
