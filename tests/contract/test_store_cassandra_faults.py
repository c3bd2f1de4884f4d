"""What the Cassandra store does when Cassandra is missing, not ready, or does not answer."""

from __future__ import annotations

import asyncio
import logging
import socket
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest
from cassandra.cluster import _clusters_for_shutdown

from cqs.errors import OutcomeUnknown, StoreUnavailable
from cqs.queue import Queue
from cqs.store.cassandra import CassandraStore, Options
from cqs.testing.clock import ManualClock
from tests.cassandra_server import Node, Ring, free_ports
from tests.contract.cassandra_home import SECONDS_MAX, CassandraHome, OnCassandra, why_not
from tests.contract.store_home import Maker, held, lease_of
from tests.needs import needs
from tests.processes import is_stopped

REQUEST_MS = 3_000


@contextmanager
def paused(node: Node) -> Iterator[None]:
    """Pauses the node in the middle of its work."""
    node.pause()
    while not is_stopped(node.pid):
        pass
    try:
        yield
    finally:
        node.resume()


async def answered(store: CassandraStore, queue: Queue) -> None:
    """Waits until calls are no longer refused because the node did not answer."""
    async with asyncio.timeout(SECONDS_MAX):
        while True:
            try:
                await store.find(queue.key)
                return
            except StoreUnavailable:
                await asyncio.sleep(0)


async def test_a_port_that_nobody_listens_on_is_told(caplog: pytest.LogCaptureFixture) -> None:
    (port,) = free_ports(["127.0.0.1"], 1)

    text = await why_not(Options(port=port))

    assert f"127.0.0.1:{port}" in text
    assert "no node answers" in text
    assert [record for record in caplog.records if record.name.startswith("cassandra")] == []
    logging.getLogger("cassandra.cluster").warning("it logs again")
    assert "it logs again" in caplog.messages


async def test_a_host_that_never_answers_is_given_up() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]

        text = await why_not(Options(port=port, connect_ms=500))

    assert f"127.0.0.1:{port}" in text


async def test_a_host_that_does_not_exist_is_told() -> None:
    text = await why_not(Options(hosts=("no-such-host.invalid",)))

    assert text == "Cassandra at no-such-host.invalid:9042: there is no such host; correct its name."


async def test_a_start_that_is_cancelled_leaves_no_driver_behind() -> None:
    before = set(_clusters_for_shutdown)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        store = CassandraStore(Options(port=silent.getsockname()[1], connect_ms=500), ManualClock())
        opening = asyncio.ensure_future(store.open())
        accepted, _ = await asyncio.to_thread(silent.accept)
        with accepted:
            opening.cancel()
            with pytest.raises(asyncio.CancelledError):
                await opening

    assert _clusters_for_shutdown == before


@needs("java", "mvn")
@pytest.mark.slow
class TestPausedNode(OnCassandra):
    """`brief` soon gives up on a node; `store` is as patient as everywhere else, for what must succeed."""

    @pytest.fixture
    async def brief(self, keyspace: Options, clock: ManualClock) -> AsyncIterator[CassandraStore]:
        home = CassandraHome(replace(keyspace, request_ms=REQUEST_MS), clock)
        yield await home.open()
        await home.close()

    async def test_what_is_written_to_a_node_that_does_not_answer_has_an_unknown_outcome(
        self, store: CassandraStore, brief: CassandraStore, queue: Queue, make: Maker, cassandra_ring: Ring
    ) -> None:
        message = make.message()
        writes = (
            brief.append(queue, [message]),
            brief.delete(queue, [make.address()]),
            brief.lease(queue, [lease_of(message)]),
            brief.create(make.queue("another")),
        )

        started = time.monotonic()
        with paused(cassandra_ring.nodes[0]):
            outcomes = await asyncio.gather(*writes, return_exceptions=True)
        took_s = time.monotonic() - started

        assert [type(outcome) for outcome in outcomes] == [OutcomeUnknown] * len(writes)
        assert took_s < SECONDS_MAX
        await answered(brief, queue)
        await store.append(queue, [message])
        assert await held(store, queue) == [message.address]

    async def test_what_is_read_from_a_node_that_does_not_answer_is_unavailable(
        self, store: CassandraStore, brief: CassandraStore, queue: Queue, make: Maker, cassandra_ring: Ring
    ) -> None:
        reads = (
            brief.read(queue, [make.address()]),
            brief.head(queue, 0, 10),
            held(brief, queue),
            brief.find(queue.key),
            brief.queues(),
            brief.leases(queue, [make.address()]),
        )

        with paused(cassandra_ring.nodes[0]):
            outcomes = await asyncio.wait_for(asyncio.gather(*reads, return_exceptions=True), SECONDS_MAX)

        assert all(isinstance(outcome, StoreUnavailable) for outcome in outcomes), outcomes
        await answered(brief, queue)
        assert await store.find(queue.key) == queue

    async def test_closing_ends_whoever_waits(
        self, brief: CassandraStore, queue: Queue, make: Maker, cassandra_ring: Ring
    ) -> None:
        with paused(cassandra_ring.nodes[0]):
            waiting = asyncio.ensure_future(brief.append(queue, [make.message()]))
            await asyncio.sleep(0)
            await asyncio.wait_for(brief.close(), SECONDS_MAX)
            outcome = (await asyncio.gather(waiting, return_exceptions=True))[0]

        assert isinstance(outcome, OutcomeUnknown | StoreUnavailable)
