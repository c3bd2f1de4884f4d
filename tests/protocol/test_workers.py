"""Several workers of one node, each with its own engine, and the sockets on which they query each other."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from cqs.api import siblings
from cqs.api.metrics_page import metrics_mounts
from cqs.api.origins import Origins
from cqs.api.siblings import Siblings
from cqs.frames import framed
from cqs.service import drain
from cqs.service.receive import ReceiveRequest, receive
from tests.engine import until
from tests.protocol.measured import Measured, measured_bench
from tests.protocol.world import make_world


@pytest.fixture(autouse=True)
def _patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another worker has a minute to answer."""
    monkeypatch.setattr(siblings, "ANSWER_S_MAX", 60.0)


@asynccontextmanager
async def worker(folder: Path, number: int) -> AsyncIterator[Measured]:
    """One worker. (Here each has its own queues with the same names; those of a real node share them.)"""
    fellows = Siblings(folder, number)
    bench = await measured_bench()
    bench = replace(bench, engine=replace(bench.engine, fellows=fellows))
    world = await make_world(bench=bench, waits=True)
    mounts = metrics_mounts(bench.engine, Origins())
    await fellows.start()
    await drain.join(bench.engine)
    async with world.listening(mounts=mounts) as door:
        yield Measured(world, door)
    fellows.close()


@pytest.fixture
async def pair(tmp_path: Path) -> AsyncIterator[tuple[Measured, Measured]]:
    async with AsyncExitStack() as stack:
        yield (
            await stack.enter_async_context(worker(tmp_path, 1)),
            await stack.enter_async_context(worker(tmp_path, 2)),
        )


async def test_whichever_worker_is_asked_the_whole_node_drains(pair: tuple[Measured, Measured]) -> None:
    one, other = pair
    engine = other.bench.engine
    waiting = asyncio.create_task(
        receive(engine, other.world.standard, ReceiveRequest(wait_ms=20_000), lambda: True),
    )
    await until(lambda: len(engine.waiters) == 1)

    reply = await one.world.json("DrainNode")

    assert json.loads(reply.body) == {"Draining": True, "AnsweredReceives": 1, "Workers": 2}
    assert await waiting == []
    for each in pair:
        assert each.bench.engine.waiters.is_draining
        assert each.bench.engine.cluster.membership.me.is_draining
    await other.world.json("DrainNode", Draining=False)
    assert not one.bench.engine.waiters.is_draining


async def test_worker_that_is_replaced_does_as_its_fellows_do(tmp_path: Path) -> None:
    async with worker(tmp_path, 1) as one:
        await drain.drain(one.bench.engine)
        async with worker(tmp_path, 2) as late:
            assert late.bench.engine.waiters.is_draining


async def test_fellow_that_is_gone_is_left_out(tmp_path: Path) -> None:
    async with worker(tmp_path, 1) as one:
        async with worker(tmp_path, 2):
            pass
        assert (await drain.drain(one.bench.engine)).workers == 1


async def test_beans_are_the_nodes(pair: tuple[Measured, Measured]) -> None:
    for place, each in enumerate(pair):
        await each.bench.send(each.world.standard, *["m"] * (place + 1))
        await each.world.json("ListQueues")
        await each.sample()

    for each in pair:
        beans = await each.beans()
        assert beans["cqs:type=Queue,name=orders"]["RecentNumberOfSends"] == 3
        assert beans["cqs:type=Node"]["RecentNumberOfSends"] == 3
        assert beans["cqs:type=Node"]["CallStats"]["ListQueues"] == 2


async def test_scrape_tells_of_each_worker_by_its_label(pair: tuple[Measured, Measured]) -> None:
    page = (await pair[0].get("/metrics")).body.decode()

    assert 'cqs_waiting_receives{worker="1"}' in page
    assert 'cqs_waiting_receives{worker="2"}' in page


async def test_a_worker_that_dies_while_it_answers_is_left_out(tmp_path: Path) -> None:
    async def die(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readline()
        writer.write(framed(b"cqs_queues 1.0\ncqs_connections 2.0\n")[:-7])
        writer.close()

    async with worker(tmp_path, 1) as one, await asyncio.start_unix_server(die, tmp_path / "2.sock"):
        assert await one.bench.engine.fellows.ask("metrics") == {}
        assert 'cqs_workers{worker="1"} 2.0' in (await one.get("/metrics")).body.decode()
