"""The contract of QueueCache as tests that every backend passes. A backend's test class inherits `CacheContract`,
defines the `cache` fixture, and overrides `advance` and `now_ms` if its time is not the clock's.

Every sentence of `cqs.cache.interface` is a test in one of the parts. They use only the interface.
"""

from __future__ import annotations

from functools import partial

import pytest

from cqs.cache.interface import QueueCache, Shard
from cqs.testing.clock import ManualClock
from tests.contract.cache_bench import CacheBench
from tests.contract.cache_browse import BrowseRules
from tests.contract.cache_epochs import EpochRules
from tests.contract.cache_fair import FairRules
from tests.contract.cache_fifo import FifoRules
from tests.contract.cache_fill import FillRules
from tests.contract.cache_leases import LeaseRules
from tests.contract.cache_looks import LookRules
from tests.contract.cache_order import StandardRules
from tests.contract.cache_time import TimeRules
from tests.contract.cache_vesting import VestingRules

STANDARD, FIFO = Shard(1 << 60 | 5), Shard(1 << 60 | 6, is_fifo=True)


class CacheContract(
    LeaseRules,
    StandardRules,
    FifoRules,
    FairRules,
    FillRules,
    EpochRules,
    TimeRules,
    VestingRules,
    LookRules,
    BrowseRules,
):
    """The whole suite."""

    tolerance_ms = 0
    """The tolerance for times, for a backend whose clock can't be stopped."""

    @pytest.fixture
    def clock(self) -> ManualClock:
        return ManualClock()

    @pytest.fixture
    def cache(self, clock: ManualClock) -> QueueCache:
        """An empty cache of the backend."""
        raise NotImplementedError

    async def advance(self, clock: ManualClock, by_ms: int) -> None:
        """Advances the time, also for the cache."""
        clock.advance_ms(by_ms)

    def now_ms(self, clock: ManualClock) -> int:
        """The cache's time."""
        return clock.now_ms()

    def bench_of(self, cache: QueueCache, clock: ManualClock, shard: Shard) -> CacheBench:
        return CacheBench(cache, shard, partial(self.now_ms, clock), partial(self.advance, clock), self.tolerance_ms)

    @pytest.fixture(params=[STANDARD, FIFO], ids=["standard", "fifo"])
    def absent(self, cache: QueueCache, clock: ManualClock, request: pytest.FixtureRequest) -> CacheBench:
        """A shard, standard or FIFO, that is not filled yet."""
        shard: Shard = request.param
        return self.bench_of(cache, clock, shard)

    @pytest.fixture
    async def bench(self, absent: CacheBench) -> CacheBench:
        """A shard, standard or FIFO, that is open and empty."""
        await absent.open()
        return absent

    @pytest.fixture
    async def standard(self, cache: QueueCache, clock: ManualClock) -> CacheBench:
        bench = self.bench_of(cache, clock, STANDARD)
        await bench.open()
        return bench

    @pytest.fixture
    def absent_fifo(self, cache: QueueCache, clock: ManualClock) -> CacheBench:
        return self.bench_of(cache, clock, FIFO)

    @pytest.fixture
    async def fifo(self, absent_fifo: CacheBench) -> CacheBench:
        await absent_fifo.open()
        return absent_fifo
