"""Coordination through a real Cassandra, tested against the contract."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from cassandra.query import BoundStatement

from cqs.errors import StoreUnavailable
from cqs.store.cassandra import CassandraStore
from cqs.store.cassandra import statements as cql
from cqs.store.cassandra.coordination import MINUTES_MAX, PROBES, CassandraCoordination
from cqs.store.cassandra.session import Row
from cqs.store.cassandra.statements import Statement
from cqs.store.coordination import News, Node
from cqs.testing.clock import ManualClock
from tests.contract.cassandra_home import CassandraHome, OnCassandra, ask
from tests.contract.coordination_suite import LONG_MS, CoordinationContract
from tests.needs import needs

pytestmark = [needs("java", "mvn"), pytest.mark.slow]


class Abroad(CassandraCoordination):
    """A node that claims to be in another data centre."""

    @property
    def datacenter(self) -> str:
        return "dc2"


class TestCassandraCoordination(CoordinationContract, OnCassandra):
    @pytest.fixture
    def here(self, store: CassandraStore, clock: ManualClock) -> CassandraCoordination:
        return CassandraCoordination(store.session, clock)

    @pytest.fixture
    async def there(self, home: CassandraHome, store: CassandraStore, clock: ManualClock) -> CassandraCoordination:
        return CassandraCoordination((await home.open()).session, clock)

    @pytest.fixture
    def abroad(self, store: CassandraStore, clock: ManualClock) -> CassandraCoordination:
        return Abroad(store.session, clock)

    async def test_leads_and_beats_end_by_themselves(
        self, here: CassandraCoordination, home: CassandraHome, name: str
    ) -> None:
        await here.lead(name, "a", LONG_MS)
        await here.lead(name, "a", 2 * LONG_MS)
        await here.beat(Node(name=name, started_ms=1, beat_ms=1), LONG_MS)

        ((lead_s,),) = await ask(home.options, f"SELECT TTL(holder) FROM leaderships WHERE name = '{name}'")
        ((beat_s,),) = await ask(
            home.options, f"SELECT TTL(definition) FROM nodes WHERE datacenter = 'dc1' AND node = '{name} 1'"
        )

        assert LONG_MS // 1_000 < lead_s <= 2 * LONG_MS // 1_000
        assert 0 < beat_s <= LONG_MS // 1_000

    async def test_it_is_reached_while_any_partition_answers(
        self, here: CassandraCoordination, store: CassandraStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        read, asked = store.session.read, 0

        async def one_has_its_quorum(statement: Statement, values: Sequence[object]) -> list[Row]:
            nonlocal asked
            asked += 1
            if asked % PROBES:
                raise StoreUnavailable("no quorum")
            return await read(statement, values)

        monkeypatch.setattr(store.session, "read", one_has_its_quorum)

        assert await here.is_reached()
        await store.close()
        assert not await here.is_reached()

    async def test_news_that_was_heard_is_not_read_again(
        self, here: CassandraCoordination, store: CassandraStore, monkeypatch: pytest.MonkeyPatch, name: str
    ) -> None:
        for number in range(3):
            await here.announce(News("queue", f"{name} {number}"))
        asked: list[Statement] = []
        insist = store.session._once

        async def noted(query: BoundStatement, *others: object, **named: object) -> object:
            asked.extend(
                one for one, prepared in store.session._prepared.items() if prepared is query.prepared_statement
            )
            return await insist(query, *others, **named)  # type: ignore[arg-type]

        monkeypatch.setattr(store.session, "_once", noted)
        heard = await here.news() or []
        assert [one.subject for one in heard if one.subject.startswith(name)] == [f"{name} {at}" for at in range(3)]
        assert cql.READ_NEWS in asked
        asked.clear()

        assert await here.news() == []
        assert set(asked) == {cql.NEWS_STAMPS}

    async def test_news_is_heard_over_the_turn_of_a_minute_and_not_after_an_hour(
        self, here: CassandraCoordination, there: CassandraCoordination, clock: ManualClock, name: str
    ) -> None:
        await there.news()
        await here.announce(News("queue", name))
        clock.advance_ms(120_000)
        heard = await there.news()
        clock.advance_ms((MINUTES_MAX + 5) * 60_000)

        assert News("queue", name) in (heard or [])
        assert await there.news() is None
        assert await there.news() == []
