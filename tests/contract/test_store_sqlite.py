"""The SQLite store, against the contract. A crash is a copy of its files, taken while it is open and busy."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from cqs.store.sqlite import SqliteStore
from cqs.testing.clock import ManualClock
from tests.contract.store_catalog_suite import CatalogContract
from tests.contract.store_claims_suite import ClaimContract
from tests.contract.store_home import Store
from tests.contract.store_leases_suite import LeaseContract, MoveContract
from tests.contract.store_suite import StoreContract


class SqliteHome:
    def __init__(self, folder: Path, clock: ManualClock) -> None:
        self.folder = folder
        self._clock = clock
        self._opened: list[Store] = []

    async def open(self) -> SqliteStore:
        store = SqliteStore(self.folder, self._clock)
        await store.open()
        self._opened.append(store)
        return store

    async def reopen(self, store: Store) -> SqliteStore:
        await store.close()
        return await self.open()

    async def crash(self, store: Store) -> SqliteStore:
        copy = self.folder.with_name(self.folder.name + "-crashed")
        shutil.copytree(self.folder, copy, ignore=shutil.ignore_patterns("*-shm"))
        self.folder = copy
        return await self.open()

    async def close(self) -> None:
        for store in self._opened:
            await store.close()


@pytest.fixture
def home(tmp_path: Path, clock: ManualClock) -> SqliteHome:
    return SqliteHome(tmp_path / "data", clock)


class TestSqliteStore(StoreContract, LeaseContract, MoveContract, ClaimContract, CatalogContract):
    """Everything a store promises."""
