"""A SQLite store in its own folder, with a queue."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from cqs.queue import Queue
from cqs.store.sqlite.store import SqliteStore
from cqs.testing.clock import ManualClock
from tests.contract.sqlite_home import SqliteHome
from tests.contract.store_home import Maker


@pytest.fixture
def make(clock: ManualClock) -> Maker:
    return Maker(clock)


@pytest.fixture
def home(tmp_path: Path, clock: ManualClock) -> SqliteHome:
    return SqliteHome(tmp_path / "data", clock)


@pytest.fixture
async def store(home: SqliteHome) -> AsyncIterator[SqliteStore]:
    """The work of its start is done: it would share a commit with a test's first write, and its failure."""
    store = await home.open()
    await store.swept()
    yield store
    await home.close()


@pytest.fixture
async def queue(store: SqliteStore, make: Maker) -> Queue:
    return await store.create(make.queue())
