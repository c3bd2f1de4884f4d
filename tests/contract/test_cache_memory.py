"""The memory cache passes the contract."""

from __future__ import annotations

import random

import pytest

from cqs.cache.interface import QueueCache
from cqs.cache.memory import MemoryCache
from cqs.testing.clock import ManualClock
from tests.contract.cache_suite import CacheContract


class TestMemoryCache(CacheContract):
    @pytest.fixture
    def cache(self, clock: ManualClock) -> QueueCache:
        return MemoryCache(clock, random.Random(1), 1_000_000)
