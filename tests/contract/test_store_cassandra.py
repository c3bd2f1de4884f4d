"""The Cassandra store, tested against the contract on a real node."""

from __future__ import annotations

import random

import pytest

from cqs.queue import Queue
from cqs.store.cassandra import Options
from cqs.testing.clock import ManualClock
from tests.contract.cassandra_home import CassandraHome
from tests.contract.store_catalog_suite import CatalogContract
from tests.contract.store_claims_suite import ClaimContract
from tests.contract.store_home import Home, Maker, Store
from tests.contract.store_leases_suite import LeaseContract, MoveContract
from tests.contract.store_suite import StoreContract
from tests.needs import needs

pytestmark = [needs("java", "mvn"), pytest.mark.slow]


class TestCassandraStore(StoreContract, LeaseContract, MoveContract, ClaimContract, CatalogContract):
    @pytest.fixture
    def home(self, keyspace: Options, clock: ManualClock) -> CassandraHome:
        return CassandraHome(keyspace, clock)

    @pytest.fixture
    def make(self, clock: ManualClock) -> Maker:
        return Maker(clock, random.getrandbits(62))

    async def test_new_addresses_are_above_the_highest_one(
        self, home: Home, store: Store, queue: Queue, make: Maker
    ) -> None:
        messages = make.messages(3)
        await store.append(queue, messages)

        reopened = await home.reopen(store)

        assert await reopened.highest_address() >= messages[-1].address
