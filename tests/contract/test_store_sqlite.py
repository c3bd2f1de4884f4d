"""The SQLite store, tested against the contract."""

from __future__ import annotations

from pathlib import Path

import pytest

from cqs.testing.clock import ManualClock
from tests.contract.sqlite_home import SqliteHome
from tests.contract.store_catalog_suite import CatalogContract
from tests.contract.store_claims_suite import ClaimContract
from tests.contract.store_leases_suite import LeaseContract, MoveContract
from tests.contract.store_suite import StoreContract


class TestSqliteStore(StoreContract, LeaseContract, MoveContract, ClaimContract, CatalogContract):
    @pytest.fixture
    def home(self, tmp_path: Path, clock: ManualClock) -> SqliteHome:
        return SqliteHome(tmp_path / "data", clock)


@pytest.mark.slow
class TestSqliteStoreWithWriterProcess(StoreContract, LeaseContract, MoveContract, ClaimContract, CatalogContract):
    @pytest.fixture
    def home(self, tmp_path: Path, clock: ManualClock) -> SqliteHome:
        return SqliteHome(tmp_path / "data", clock, has_writer_process=True)
