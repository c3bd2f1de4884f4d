"""The short versions of drills that take seconds: a fault of each kind, on each store, on one node and on two. All of
them: `python -m tests.drills`. DRILL_SEED repeats a run's choices.

On a machine that does nothing else a drill takes 5 to 15 s. One that waits for messages that never come takes the 60 s
of `Load.drain_s_max` more, and must then be told by its verdict, not by the time-out of tests.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator

import pytest

from tests.cassandra_server import Ring, Tuning
from tests.drills.drills import DRILLS, Drill
from tests.drills.place import RING_OF, Kind
from tests.drills.result import perform, why_not
from tests.needs import absent, needs

pytestmark = [pytest.mark.slow, pytest.mark.timeout(480)]


@pytest.fixture(scope="module")
def ring(request: pytest.FixtureRequest) -> Iterator[Ring]:
    """The Cassandra nodes that drills of one kind stand on; those of the next kind take their place."""
    nodes = request.param
    with Ring(nodes, Tuning() if len(set(nodes)) > 1 else Tuning(tombstones_max=2_000)) as ring:
        yield ring


def drills(*kinds: Kind) -> list[Drill]:
    return [drill for drill in DRILLS if drill.kind in kinds and not drill.is_apart]


def seed() -> int:
    return int(os.environ.get("DRILL_SEED") or random.SystemRandom().randrange(10**9))


async def check(drill: Drill, ring: Ring | None = None) -> None:
    if why_not(drill):
        absent(drill.name, why_not(drill))
    result = await perform(drill, seed(), ring=ring)
    print(result)
    assert result.wrong == [], f"seed {result.seed}"


@pytest.mark.parametrize("drill", drills(Kind.EMBEDDED), ids=lambda drill: drill.name)
async def test_embedded(drill: Drill) -> None:
    await check(drill)


@needs("redis-server")
@pytest.mark.parametrize("drill", drills(Kind.REDIS_SQLITE), ids=lambda drill: drill.name)
async def test_redis(drill: Drill) -> None:
    await check(drill)


@needs("redis-server", "java", "mvn")
@pytest.mark.parametrize(
    ("ring", "drill"),
    [(RING_OF[drill.kind], drill) for drill in drills(*RING_OF)],
    indirect=["ring"],
    ids=lambda value: value.name if isinstance(value, Drill) else "-".join(value),
)
async def test_redis_and_cassandra(drill: Drill, ring: Ring) -> None:
    await check(drill, ring)
