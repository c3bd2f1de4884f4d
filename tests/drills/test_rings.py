"""Drills on a ring of three Cassandra nodes."""

from __future__ import annotations

import pytest

from tests.drills.checking import TIMEOUT_S, Rings, check_on, drills
from tests.drills.drills import Drill
from tests.drills.place import Kind
from tests.needs import needs

pytestmark = [pytest.mark.slow, pytest.mark.timeout(TIMEOUT_S)]


@needs("redis-server", "java", "mvn")
@pytest.mark.parametrize("drill", drills(Kind.RING), ids=lambda drill: drill.name)
async def test_ring_of_three(drill: Drill, rings: Rings) -> None:
    await check_on(drill, rings)
