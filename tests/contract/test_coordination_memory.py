"""The in-process cluster, tested against the contract."""

from __future__ import annotations

import pytest

from cqs.store.coordination import Coordination, MemoryCluster, MemoryCoordination, Node
from cqs.testing.clock import ManualClock
from tests.contract.coordination_suite import LONG_MS, CoordinationContract


class TestMemoryCoordination(CoordinationContract):
    @pytest.fixture
    def clock(self) -> ManualClock:
        return ManualClock()

    @pytest.fixture
    def cluster(self, clock: ManualClock) -> MemoryCluster:
        return MemoryCluster(clock)

    @pytest.fixture
    def here(self, cluster: MemoryCluster) -> MemoryCoordination:
        return MemoryCoordination(cluster)

    @pytest.fixture
    def there(self, cluster: MemoryCluster) -> MemoryCoordination:
        return MemoryCoordination(cluster)

    @pytest.fixture
    def abroad(self, cluster: MemoryCluster) -> MemoryCoordination:
        return MemoryCoordination(cluster, "dc2")

    async def test_a_lead_that_is_not_renewed_is_free(
        self, here: Coordination, there: Coordination, clock: ManualClock
    ) -> None:
        await here.lead("sweep", "a", LONG_MS)
        clock.advance_ms(LONG_MS)

        assert await there.lead("sweep", "b", LONG_MS)
        assert not await here.lead("sweep", "a", LONG_MS)

    async def test_a_node_that_no_longer_beats_is_gone(
        self, here: Coordination, there: Coordination, clock: ManualClock
    ) -> None:
        await here.beat(Node(name="a", started_ms=1, beat_ms=1), LONG_MS)
        clock.advance_ms(LONG_MS)

        assert await there.nodes() == []
