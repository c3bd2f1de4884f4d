"""Drills on SQLite or a single Cassandra node, with one or two API nodes (others: `test_rings`, `test_datacenters`)."""

from __future__ import annotations

import pytest

from tests.drills.checking import TIMEOUT_S, Rings, check, check_on, drills
from tests.drills.drills import Drill
from tests.drills.place import Kind
from tests.needs import needs

pytestmark = [pytest.mark.slow, pytest.mark.timeout(TIMEOUT_S)]


@pytest.mark.parametrize("drill", drills(Kind.EMBEDDED), ids=lambda drill: drill.name)
async def test_embedded(drill: Drill) -> None:
    await check(drill)


@needs("redis-server")
@pytest.mark.parametrize("drill", drills(Kind.REDIS_SQLITE), ids=lambda drill: drill.name)
async def test_redis(drill: Drill) -> None:
    await check(drill)


@needs("redis-server", "java", "mvn")
@pytest.mark.parametrize("drill", drills(Kind.REDIS_CASSANDRA), ids=lambda drill: drill.name)
async def test_redis_and_cassandra(drill: Drill, rings: Rings) -> None:
    await check_on(drill, rings)
