"""A keyspace of a real Cassandra node for stores under test, and ways to look behind their back.

The keyspace is made once a session. Queues get other uids in every test, so no test meets the tombstones of another;
the few rows of the catalogue are removed after each.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncIterator, Sequence

import pytest

from cqs.errors import OutcomeUnknown, StoreUnavailable
from cqs.queue import Queue
from cqs.store.cassandra import CassandraStore, Options, schema
from cqs.store.cassandra.session import Decision, Row, Session, Write
from cqs.testing.clock import ManualClock
from tests.contract.store_home import Maker, Store

SECONDS_MAX = 60


async def ask(options: Options, *queries: str, values: Sequence[object] = ()) -> list[Row]:
    """Runs CQL in the keyspace and returns the last answer."""
    session = Session(options)
    await session.connect()
    try:
        await session.ask(f'USE "{options.keyspace}"')
        found: list[Row] = []
        for query in queries:
            found = await session.ask(query, values)
        return found
    finally:
        await session.close()


async def why_not(options: Options) -> str:
    """Returns the error of a store that does not open, which must come within SECONDS_MAX and be one line."""
    started = time.monotonic()
    store = CassandraStore(options, ManualClock())
    with pytest.raises(StoreUnavailable) as failure:
        await asyncio.wait_for(store.open(), SECONDS_MAX)
    await store.close()
    assert time.monotonic() - started < SECONDS_MAX
    assert "\n" not in str(failure.value)
    return str(failure.value)


async def make_keyspace(options: Options) -> None:
    await schema.apply(options, {})


class CassandraHome:
    """A crash is simulated by another node on the same keyspace while the first one is open and busy."""

    def __init__(self, options: Options, clock: ManualClock) -> None:
        self.options = options
        self._clock = clock
        self._opened: list[Store] = []

    async def open(self) -> CassandraStore:
        store = CassandraStore(self.options, self._clock)
        await store.open()
        self._opened.append(store)
        return store

    async def reopen(self, store: Store) -> CassandraStore:
        await store.close()
        return await self.open()

    async def crash(self, store: Store) -> CassandraStore:
        return await self.open()

    async def close(self) -> None:
        await asyncio.gather(*[store.close() for store in self._opened])
        await self._empty_catalogue()

    async def _empty_catalogue(self) -> None:
        session = Session(self.options)
        await session.connect()
        try:
            await session.ask(f'USE "{self.options.keyspace}"')
            for account, name in await session.ask("SELECT account, name FROM queues"):
                await session.ask("DELETE FROM queues WHERE account = %s AND name = %s IF EXISTS", (account, name))
            for table in ("dropped_queues", "move_tasks"):
                for account, name in await session.ask(f"SELECT DISTINCT account, name FROM {table}"):
                    await session.ask(f"DELETE FROM {table} WHERE account = %s AND name = %s", (account, name))
        finally:
            await session.close()


class OnCassandra:
    """Fixtures for tests of Cassandra's store beyond the contract."""

    @pytest.fixture
    def clock(self) -> ManualClock:
        return ManualClock()

    @pytest.fixture
    def make(self, clock: ManualClock) -> Maker:
        return Maker(clock, random.getrandbits(62))

    @pytest.fixture
    def home(self, keyspace: Options, clock: ManualClock) -> CassandraHome:
        return CassandraHome(keyspace, clock)

    @pytest.fixture
    async def store(self, home: CassandraHome) -> AsyncIterator[CassandraStore]:
        yield await home.open()
        await home.close()

    @pytest.fixture
    async def queue(self, store: CassandraStore, make: Maker) -> Queue:
        return await store.create(make.queue())


class OnTwoNodes(OnCassandra):
    """A FIFO queue, and `other`: a second node on the same keyspace."""

    @pytest.fixture
    async def queue(self, store: CassandraStore, make: Maker) -> Queue:
        return await store.create(make.fifo())

    @pytest.fixture
    async def other(self, home: CassandraHome, store: CassandraStore) -> CassandraStore:
        return await home.open()


class LostAnswers:
    """Makes the next `decisions` conditional writes of a store take effect but raise a timeout."""

    def __init__(self, store: CassandraStore) -> None:
        self.decisions = 0
        self._decide = store.session.decide
        store.session.decide = self.decide  # type: ignore[method-assign]

    async def decide(self, writes: Sequence[Write], *, is_here: bool = False) -> Decision:
        decision = await self._decide(writes, is_here=is_here)
        if self.decisions:
            self.decisions -= 1
            raise OutcomeUnknown("made up by a test")
        return decision
