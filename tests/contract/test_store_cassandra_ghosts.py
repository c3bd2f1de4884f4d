"""Rows of which only the keys are left, as TTLs and deletes may leave them, in every table that has cells."""

from __future__ import annotations

import pytest

from cqs.errors import StoreUnavailable
from cqs.queue import Queue, QueueName
from cqs.store.cassandra import CassandraStore
from cqs.store.cassandra.coordination import MINUTE_MS, CassandraCoordination
from cqs.store.cassandra.identity import REALM, CassandraIdentities
from cqs.store.coordination import Node
from cqs.testing.clock import ManualClock
from tests.contract.cassandra_home import CassandraHome, OnCassandra, ask
from tests.contract.store_home import Maker, held
from tests.needs import needs

pytestmark = [needs("java", "mvn"), pytest.mark.slow]

TTL = "USING TTL 60"


class TestGhosts(OnCassandra):
    @pytest.fixture
    def here(self, store: CassandraStore, clock: ManualClock) -> CassandraCoordination:
        return CassandraCoordination(store.session, clock)

    async def test_nodes_that_can_be_read_are_found_among_those_that_can_not(
        self, here: CassandraCoordination, home: CassandraHome
    ) -> None:
        node = Node(name="living", started_ms=1, beat_ms=2)
        await here.beat(node, 60_000)
        into = "INSERT INTO nodes (datacenter, node"
        await ask(
            home.options,
            f"{into}) VALUES ('dc1', 'ghost') {TTL}",
            f"{into}, definition) VALUES ('dc1', 'garbled', '{{') {TTL}",
            f"{into}, definition) VALUES ('dc1', 'foreign', '{{\"name\":\"foreign\"}}') {TTL}",
        )

        nodes = await here.nodes()

        assert node in nodes
        assert {"ghost", "garbled", "foreign"}.isdisjoint(one.name for one in nodes)

    async def test_a_beat_that_is_repeated_with_another_life_leaves_no_trace(
        self, here: CassandraCoordination, home: CassandraHome
    ) -> None:
        await ask(
            home.options,
            f"INSERT INTO nodes (datacenter, node) VALUES ('dc1', 'twice') {TTL}",
            'UPDATE nodes USING TTL 60 SET definition = \'{"name":"twice","started_ms":1,"beat_ms":1}\''
            " WHERE datacenter = 'dc1' AND node = 'twice'",
            "DELETE definition FROM nodes WHERE datacenter = 'dc1' AND node = 'twice'",
        )

        assert "twice" not in {one.name for one in await here.nodes()}

    async def test_homes_marks_and_news(
        self, here: CassandraCoordination, home: CassandraHome, clock: ManualClock, queue: Queue
    ) -> None:
        minute = clock.now_ms() // MINUTE_MS
        await ask(
            home.options,
            f"INSERT INTO homes (queue_uid, shard) VALUES ({queue.uid}, 0) {TTL}",
            "INSERT INTO dirty_marks (datacenter, queue_id, shard, node, since_ms)"
            f" VALUES ('dc1', {queue.storage_id}, 0, 'ghost', 1) {TTL}",
            f"INSERT INTO news (minute, stamp) VALUES ({minute}, now()) {TTL}",
        )

        assert await here.home(queue.uid, 0) is None
        assert "ghost" not in {mark.node for mark in await here.dirty_marks()}
        assert all(one.kind for one in await here.news() or [])

    async def test_queues_move_tasks_and_garbage(
        self, store: CassandraStore, home: CassandraHome, queue: Queue, make: Maker
    ) -> None:
        ghost, garbled = make.queue("ghost"), make.queue("garbled")
        into = "INSERT INTO queues (account, name"
        await ask(
            home.options,
            f"{into}) VALUES ('{ghost.account}', 'ghost') {TTL}",
            f"{into}, definition) VALUES ('{ghost.account}', 'garbled', '{{}}') {TTL}",
            "INSERT INTO move_tasks (account, name, started_ms, handle)"
            f" VALUES ('{ghost.account}', 'ghost', 1, 'h') {TTL}",
            f"INSERT INTO dropped_queues (account, name) VALUES ('{ghost.account}', 'ghost') {TTL}",
            f"INSERT INTO garbage (queue_id) VALUES ({queue.storage_id}) {TTL}",
        )

        assert await store.queues() == [queue]
        assert await store.move_tasks() == []
        assert await store.find(ghost.key) is None
        assert await store.dropped_ms(ghost.key) == 0
        assert await (await home.open()).queues() == [queue]
        for refused in (store.find(garbled.key), store.create(garbled)):
            with pytest.raises(StoreUnavailable, match=f"{garbled.account}/garbled"):
                await refused
        with pytest.raises(StoreUnavailable, match=f"{ghost.account}/ghost"):
            await store.create(ghost)
        await ask(
            home.options, *[f"DELETE FROM queues WHERE account = '{one.account}' AND name = '{one.name}' IF EXISTS"
                            for one in (ghost, garbled)]
        )  # fmt: skip
        assert await store.find(QueueName(garbled.account, "garbled")) is None

    async def test_messages_leases_and_low_water_marks(
        self, store: CassandraStore, home: CassandraHome, queue: Queue, make: Maker, clock: ManualClock
    ) -> None:
        message = make.message()
        await store.append(queue, [message])
        minute = clock.now_ms() // MINUTE_MS
        await ask(
            home.options,
            f"INSERT INTO lease_minutes (queue_id, minute) VALUES ({queue.storage_id}, {minute}) {TTL}",
            "INSERT INTO leases (queue_id, minute, at, tail, number)"
            f" VALUES ({queue.storage_id}, {minute}, {message.address >> 64}, 1, 1) {TTL}",
            "INSERT INTO receives (queue_id, row, at, incarnation, number)"
            f" VALUES ({queue.storage_id}, 0, {message.address >> 64}, 1, 1) {TTL}",
            f"INSERT INTO low_water_marks (datacenter, queue_id, row) VALUES ('dc1', {queue.storage_id}, 0) {TTL}",
        )

        cold = await home.open()

        assert await held(cold, queue) == [message.address]
        assert await cold.leases(queue, [message.address]) == [None]

    async def test_identities(self, store: CassandraStore, home: CassandraHome) -> None:
        identities = CassandraIdentities(store.session)
        into = "INSERT INTO identities (realm, kind, name, owner"
        keys = [("account", "ghost"), ("user", "ghost"), ("key", "ghost")]
        ghosts = [f"{into}) VALUES ('{REALM}', '{kind}', '{name}', '') {TTL}" for kind, name in keys]
        garbled = f"{into}, definition) VALUES ('{REALM}', 'user', 'garbled', '', '[]') {TTL}"

        await ask(home.options, *ghosts, garbled)

        known = await identities.identities()
        assert not [one for one in known.users if one.name in ("ghost", "garbled")]
        assert not [one for one in known.keys if one.key_id == "ghost"]
        with pytest.raises(StoreUnavailable, match="garbled"):
            await identities.drop_user("garbled")
        assert not await identities.drop_user("ghost")
