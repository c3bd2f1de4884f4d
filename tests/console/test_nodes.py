"""The nodes page: calls, cache servers, other nodes; and draining a node and putting it back into service."""

from __future__ import annotations

import asyncio
import os

import pytest

from admin.console import About
from cqs.cache.interface import Shard
from cqs.cache.report import ServerReport
from cqs.errors import StoreUnavailable
from cqs.identity import Role
from cqs.service.long_poll import DRAINING_WAIT_MS
from cqs.service.receive import ReceiveRequest, receive
from cqs.service.statistics import Sampler
from cqs.store.coordination import Node
from cqs.store.report import StoreFile, StoreHost, StoreReport
from tests.console.desk import Desk, make_desk
from tests.engine import until


async def test_the_nodes_page_tells_of_calls_and_their_failures(desk: Desk) -> None:
    calls = desk.bench.engine.metrics.calls
    calls.record("SendMessage", "", 2_000_000)
    calls.record("SendMessage", "QueueDoesNotExist", 2_000_000)

    told = (await desk.get("/nodes")).words

    assert "SendMessage QueueDoesNotExist 1 2 1 2.5 ms" in told


async def test_nodes_and_cache_servers_are_told_with_what_is_wrong() -> None:
    async def servers() -> dict[str, ServerReport]:
        well = ServerReport(version="8.0", used_bytes=2 << 20, budget_bytes=4 << 20, keys=12, clients=3)
        return {"10.0.0.1:6379": well, "10.0.0.2:6379": ServerReport(problems=("it evicts keys <b>",))}

    async def nodes() -> list[Node]:
        return [
            Node(name="api-1", url="http://10.0.0.9:9324", started_ms=1, beat_ms=1, is_draining=True, version="7"),
            Node(name="api-3", url="javascript:alert(1)", started_ms=1, beat_ms=1),
            Node(name="api-2", started_ms=1, beat_ms=1, lost=("10.0.0.2",)),
        ]

    desk = await make_desk(about=About(servers=servers, nodes=nodes))
    page = await desk.get("/nodes")
    told, text = page.words, page.text
    await desk.client.close()

    assert "10.0.0.1:6379 Redis 8.0 healthy 0 0 % 0 2.0 MB bodies up to 4.0 MB 12 3" in told
    assert "10.0.0.2:6379 unhealthy 0 0 % 0 – – – it evicts keys <b>" in told
    assert "api-2 10.0.0.2" in told
    assert "api-1 draining CQS 7" in told
    assert 'href="http://10.0.0.9:9324/ADMIN/nodes"' in text
    assert 'href="javascript' not in text


HOSTS = (
    StoreHost(address="10.0.1.1", datacenter="dc1", rack="r1", version="5.0.6", is_up=True),
    StoreHost(address="10.0.1.2", datacenter="dc1", rack="<b>", version="5.0.6", is_up=False),
    StoreHost(address="10.0.2.1", datacenter="dc2", rack="r1"),
)


async def test_hosts_of_cassandra_are_told_as_the_driver_knows_them(desk: Desk) -> None:
    desk.bench.engine.metrics.store_report = lambda: StoreReport(hosts=HOSTS)

    page = await desk.get("/nodes")

    assert "Cassandra 3 hosts" in page.words
    assert "10.0.1.1 up dc1 r1 5.0.6 10.0.1.2 down dc1 <b> 5.0.6 10.0.2.1 unknown dc2 r1 –" in page.words
    assert "<b>" not in page.text
    assert "Store files" not in page.words


async def test_a_host_that_is_down_is_said_on_the_overview(desk: Desk) -> None:
    desk.bench.engine.metrics.store_report = lambda: StoreReport(hosts=HOSTS)

    told = (await desk.get("/")).words

    assert "Cassandra host 10.0.1.2 (dc1) can't be reached." in told
    assert "10.0.1.1" not in told
    assert "10.0.2.1" not in told


async def test_files_of_an_embedded_store_are_told_with_their_sizes(desk: Desk) -> None:
    files = (StoreFile(path="/data/messages.db", size_bytes=3 << 20), StoreFile(path="/data/m-wal", size_bytes=512))
    desk.bench.engine.metrics.store_report = lambda: StoreReport(files=files)

    told = (await desk.get("/nodes")).words

    assert "/data/messages.db 3.0 MB /data/m-wal 512 B" in told
    assert "Cassandra" not in told


async def test_a_data_folder_whose_name_is_no_unicode_is_shown() -> None:
    desk = await make_desk(about=About(data=os.fsdecode(b"/data/\xff")))
    page = await desk.get("/nodes")
    await desk.client.close()

    assert page.status == 200
    assert "dcff" in page.words


async def test_other_nodes_that_are_not_known_now_hide_nothing_else() -> None:
    async def nodes() -> list[Node]:
        raise StoreUnavailable("no quorum")

    desk = await make_desk(about=About(nodes=nodes))
    page = await desk.get("/nodes")
    await desk.client.close()

    assert page.status == 200
    assert "Calls" in page.words


async def test_each_cache_server_is_told_with_its_queues() -> None:
    async def servers() -> dict[str, ServerReport]:
        return {"a": ServerReport(), "b": ServerReport(is_left_alone=True)}

    def place(shard: Shard) -> str:
        return "a"

    desk = await make_desk(about=About(servers=servers, place=place))
    for name in ("orders", "bills"):
        await desk.bench.send(await desk.bench.create(name), "one", "two")
    await Sampler(desk.bench.engine).sample()
    told = (await desk.get("/nodes")).words
    await desk.client.close()

    assert "a healthy 2 100 % 4 –" in told
    assert "b circuit open 0 0 % 0 –" in told


async def test_a_drained_node_answers_who_waits_and_lets_nobody_wait_long(desk: Desk) -> None:
    queue = await desk.bench.create("orders")
    engine = desk.bench.engine
    waiting = asyncio.create_task(receive(engine, queue, ReceiveRequest(wait_ms=20_000), lambda: True))
    await until(lambda: len(engine.waiters) == 1)

    page = await desk.post("/nodes/drain")

    assert await waiting == []
    assert "1 waiting receive was answered" in page.words
    assert "Draining." in page.words
    assert "This node is draining" in (await desk.get("/")).words
    assert engine.waiters.wait_ms_of(20_000) == DRAINING_WAIT_MS
    assert engine.cluster.membership.me.is_draining


async def test_a_drained_node_still_serves_and_comes_in_again(desk: Desk) -> None:
    queue = await desk.bench.create("orders")
    await desk.post("/nodes/drain")
    await desk.bench.send(queue, "one")

    assert len(await desk.bench.receive(queue)) == 1

    page = await desk.post("/nodes/resume")
    assert "The node is no longer draining." in page.words
    assert desk.bench.engine.waiters.wait_ms_of(20_000) == 20_000


@pytest.mark.parametrize("role", [Role.OPERATOR, Role.ADMINISTRATOR])
async def test_nodes_are_no_business_of_another_account(desk: Desk, role: Role) -> None:
    await desk.add_user("root", Role.ADMINISTRATOR)
    await desk.add_user("stranger", role, "111122223333")
    await desk.log_in("stranger")

    page = await desk.post("/nodes/drain")

    assert "Only users of the server's own account" in page.words
    assert not desk.bench.engine.waiters.is_draining
    assert "Drain this node" not in (await desk.get("/nodes")).words
