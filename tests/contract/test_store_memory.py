"""The in-memory store, tested against the contract. Its data survive `close`. Its real crash would end the process, so
here a crash is the same as a restart."""

from __future__ import annotations

import pytest

from cqs.store.memory import MemoryStore
from cqs.testing.clock import ManualClock
from tests.contract.store_catalog_suite import CatalogContract
from tests.contract.store_claims_suite import ClaimContract
from tests.contract.store_home import Store
from tests.contract.store_leases_suite import LeaseContract, MoveContract
from tests.contract.store_suite import StoreContract


class MemoryHome:
    def __init__(self, clock: ManualClock) -> None:
        self._store = MemoryStore(clock)

    async def open(self) -> Store:
        await self._store.open()
        return self._store

    async def reopen(self, store: Store) -> Store:
        await store.close()
        return await self.open()

    async def crash(self, store: Store) -> Store:
        return await self.reopen(store)

    async def close(self) -> None:
        await self._store.close()


class TestMemoryStore(StoreContract, LeaseContract, MoveContract, ClaimContract, CatalogContract):
    @pytest.fixture
    def home(self, clock: ManualClock) -> MemoryHome:
        return MemoryHome(clock)
