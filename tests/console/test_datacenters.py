"""What the console of one data centre shows of the others: homes of queues, API nodes, Cassandra hosts."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec
import pytest

from admin.abroad import Abroad
from admin.console import About
from admin.latest import LOOK_MS
from cqs.cache.entry import State
from cqs.errors import StoreUnavailable
from cqs.queue import Redrive
from cqs.service.engine import Engine
from cqs.service.homes import BELIEVED_MS
from cqs.service.peek import oldest
from cqs.store.report import StoreHost, StoreReport
from tests.console.desk import Desk, make_desk
from tests.datacenters import move_to, two, unserved
from tests.engine import ACCOUNT, Bench, until

NOT_HERE = "This queue’s home is {}. It is served there"
REFUSED = "sends and deletes are answered with 503"


@asynccontextmanager
async def desk_of(bench: Bench) -> AsyncIterator[Desk]:
    """Returns the console of that node."""
    desk = await make_desk(about=About(nodes=bench.engine.cluster.nodes), bench=bench)
    yield desk
    await desk.client.close()


@pytest.mark.parametrize("name", ["orders", "orders.fifo"])
async def test_a_queues_page_names_its_home_in_each_data_centre(name: str) -> None:
    town, a, b, queue = await two(name)
    await a.send(queue, "one")
    async with desk_of(a) as here, desk_of(b) as there:
        at_home, abroad = [(await desk.get(f"/q/{ACCOUNT}/{name}")).words for desk in (here, there)]

        assert "Home dc1, this data centre, since" in at_home
        assert NOT_HERE.format("dc1") not in at_home
        assert "in dc1 Home dc1, another data centre, since" in abroad
        assert NOT_HERE.format("dc1") in abroad
        assert (REFUSED in abroad) == queue.settings.is_fifo

        await move_to(town, b, queue)
        assert "Home dc2, another data centre" in (await here.get(f"/q/{ACCOUNT}/{name}")).words
        assert NOT_HERE.format("dc2") in (await here.get(f"/q/{ACCOUNT}/{name}/messages")).words


async def test_what_only_its_home_can_show_does_not_look_gone() -> None:
    town, a, b, queue = await two()
    await a.create("work", redrive=Redrive(queue.arn, 3))
    await town.beat()
    await a.send(queue, "one")
    message = (await oldest(a.engine, queue, State.READY, 1))[0][0].message.message_id
    paths = (f"/q/{ACCOUNT}/orders/dead-letters", f"/q/{ACCOUNT}/orders/messages/{message}")
    async with desk_of(a) as here, desk_of(b) as there:
        for path in paths:
            at_home, abroad = (await here.get(path)).words, (await there.get(path)).words

            assert "one" in at_home
            assert NOT_HERE.format("dc1") not in at_home
            assert NOT_HERE.format("dc1") in abroad
            assert "No message has exceeded" not in abroad
            assert "It was deleted" not in abroad


async def test_a_queue_that_no_data_centre_has_served_has_no_home_yet() -> None:
    _, a, _, _ = await unserved()
    async with desk_of(a) as desk:
        assert "Home none yet" in (await desk.get(f"/q/{ACCOUNT}/orders")).words


async def test_a_home_that_cannot_be_read_is_not_known_and_hides_nothing_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    town, a, _, queue = await two()
    await a.send(queue, "one")
    town.clock.advance_ms(BELIEVED_MS)

    async def away(*_: object) -> None:
        raise StoreUnavailable("no quorum")

    monkeypatch.setattr(a.engine.cluster.coordination, "home", away)
    async with desk_of(a) as desk:
        page = await desk.get(f"/q/{ACCOUNT}/orders")

    assert page.status == 200
    assert "Home unknown at the moment" in page.words
    assert "Properties" in page.words


async def test_where_the_store_has_one_data_centre_none_is_named(desk: Desk) -> None:
    await desk.bench.create("orders")

    assert "Home" not in (await desk.get(f"/q/{ACCOUNT}/orders")).words
    assert "Data centre" not in (await desk.get("/nodes")).words


async def test_nodes_of_all_data_centres_are_told_with_theirs() -> None:
    town, a, b, _ = await two()
    await town.node("a2", "dc1")
    b.engine.cluster.membership.me = msgspec.structs.replace(b.engine.cluster.membership.me, url="http://10.0.2.1:9324")
    town.lost["b"].append("redis-9")
    await town.beat()
    await town.beat()
    async with desk_of(a) as desk:
        page, overview = await desk.get("/nodes"), (await desk.get("/")).words
    assert "All nodes 3 are alive" in page.words
    assert "a dc1 –" in page.words
    assert "a2 dc1 –" in page.words
    assert "b http://10.0.2.1:9324 dc2 redis-9" in page.words
    assert 'href="http://10.0.2.1:9324/ADMIN/nodes"' in page.text
    assert "Data centre dc1" in page.words
    assert "Node b (dc2) can't reach redis-9." in overview


async def test_a_data_centre_whose_nodes_are_gone_needs_attention() -> None:
    town, a, _, _ = await two()
    async with desk_of(a) as desk:
        assert "Nothing needs attention." in (await desk.get("/")).words

        await town.kill("b")
        town.clock.advance_ms(LOOK_MS)
        page, overview = (await desk.get("/nodes")).words, (await desk.get("/")).words

    assert "none alive dc2 judging by the heartbeats received here" in page
    assert "Data centre dc2: no heartbeat from any of its nodes. See" in overview
    async with desk_of(a) as of_node_started_since:
        assert "no heartbeat from any of its nodes. See" in (await of_node_started_since.get("/")).words


def counted(monkeypatch: pytest.MonkeyPatch, engine: Engine) -> list[str]:
    """Returns a list of the data centres that the store is queried for from now on."""
    asked: list[str] = []
    nodes = engine.cluster.coordination.nodes

    async def counting(datacenter: str = "") -> object:
        asked.append(datacenter)
        return await nodes(datacenter)

    monkeypatch.setattr(engine.cluster.coordination, "nodes", counting)
    return asked


async def test_other_data_centres_are_asked_for_while_somebody_looks_and_seldom_then(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    town, a, _, _ = await two()
    asked = counted(monkeypatch, a.engine)
    for _ in range(5):
        await town.beat("a")
    assert set(asked) == {""}
    asked.clear()

    async with desk_of(a) as desk:
        for _ in range(5):
            await desk.get("/nodes", HX_Request="true")
            await desk.get("/", HX_Request="true")
        assert asked == ["dc2"]
        town.clock.advance_ms(LOOK_MS)
        await desk.get("/nodes")
        assert asked == ["dc2"] * 2


async def test_a_store_that_hangs_does_not_hang_pages_and_what_was_heard_stays(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    town, a, _, _ = await two()
    abroad, let_go = Abroad(a.engine, wait_s=0, first_wait_s=1), asyncio.Event()
    assert [node.name for node in (await abroad.heard()).nodes["dc2"]] == ["b"]

    async def hangs(_: str) -> None:
        await let_go.wait()
        raise StoreUnavailable("no quorum")

    monkeypatch.setattr(a.engine.cluster.coordination, "nodes", hangs)
    town.clock.advance_ms(LOOK_MS)
    before = await abroad.heard()
    let_go.set()
    await until(lambda: abroad._latest._look is not None and abroad._latest._look.done())

    assert await abroad.heard() is before
    assert before.asked_ms == town.clock.now_ms() - LOOK_MS
    await abroad.end()


def hosts(*downs: tuple[str, str, bool | None]) -> StoreReport:
    return StoreReport(hosts=tuple(StoreHost(address=a, datacenter=dc, is_up=up) for a, dc, up in downs))


@pytest.mark.parametrize(
    ("known", "told"),
    [
        (hosts(("h1", "dc1", True), ("h2", "dc2", False)), ["Cassandra host h2 (dc2) can't be reached."]),
        (
            hosts(("h1", "dc1", True), ("h2", "dc2", False), ("h3", "dc2", None)),
            ["Cassandra host h2 (dc2) can't be reached."],
        ),
        (
            hosts(("h1", "dc1", False), ("h2", "dc2", False), ("h3", "dc2", False)),
            ["Data centre dc2: none of its 2 Cassandra hosts can be reached.", "Cassandra host h1 (dc1)"],
        ),
        (hosts(("h1", "dc1", True), ("h2", "dc2", None)), []),
    ],
)
async def test_lost_hosts_of_any_data_centre_need_attention(desk: Desk, known: StoreReport, told: list[str]) -> None:
    desk.bench.engine.metrics.store_report = lambda: known

    words = (await desk.get("/")).words

    assert [text for text in told if text not in words] == []
    assert words.count("can't be reached") + words.count("can be reached") == len(told)
    assert ("Nothing needs attention." in words) == (not told)
