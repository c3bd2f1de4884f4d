"""The figures of the charts come only from samples."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator

import pytest

from cqs.metrics.node import NodeMetrics
from cqs.service.statistics import Sampler
from tests.console.desk import Desk, make_desk
from tests.engine import ACCOUNT
from tests.protocol.measured import measured_bench


@pytest.fixture
async def desk() -> AsyncIterator[Desk]:
    """A console whose engine has metrics."""
    made = await make_desk(bench=await measured_bench())
    yield made
    await made.client.close()


async def newest(desk: Desk, path: str) -> dict[str, float | None]:
    """Returns the last point of each line of a chart."""
    told = json.loads((await desk.get(path)).text)
    columns = told["data"][1:]
    return {one["label"]: column[-1] for one, column in zip(told["series"], columns, strict=True)}


async def test_the_wait_until_a_first_receive_is_a_mean_over_messages(desk: Desk) -> None:
    queue = await desk.bench.create("orders")
    await desk.bench.send(queue, "one")
    desk.bench.clock.advance_ms(2_000)
    await desk.bench.send(queue, "two")
    desk.bench.clock.advance_ms(1_000)
    await desk.bench.receive(queue, 10, visibility_ms=0)
    await desk.bench.receive(queue, 10)
    await Sampler(desk.bench.engine).sample()

    assert await newest(desk, f"/q/{ACCOUNT}/orders/chart?kind=wait") == {"on average": 2.0}
    assert await newest(desk, f"/q/{ACCOUNT}/orders/chart?kind=hits") == {"from the cache": 100.0}


async def test_nothing_received_is_no_ratio(desk: Desk) -> None:
    queue = await desk.bench.create("orders")
    await desk.bench.send(queue, "one")
    await Sampler(desk.bench.engine).sample()

    assert await newest(desk, f"/q/{ACCOUNT}/orders/chart?kind=hits") == {"from the cache": None}
    assert await newest(desk, "/chart?kind=hits") == {"from the cache": None}


async def test_times_of_calls_are_of_the_last_period_alone(desk: Desk) -> None:
    metrics, sampler = desk.bench.engine.metrics, Sampler(desk.bench.engine)
    for took_ns in (900_000, 900_000, 900_000, 40_000_000):
        metrics.calls.record("SendMessage", "", took_ns)
    metrics.calls.record("ReceiveMessage", "", 20_000_000_000)
    await sampler.sample()
    first = await newest(desk, "/chart?kind=times")
    desk.bench.clock.advance_ms(5_000)
    await sampler.sample()
    second = await newest(desk, "/chart?kind=times")

    assert first["send, half"] == 1.0
    assert first["send, 99 %"] == 50.0
    assert (second["send, half"], second["send, 99 %"]) == (None, None)


async def test_a_queues_page_draws_its_times_and_says_what_they_are(desk: Desk) -> None:
    queue, sampler = await desk.bench.create("orders"), Sampler(desk.bench.engine)
    await desk.bench.send(queue, "one")
    stats = desk.bench.engine.metrics.queues.meet(queue)
    stats.look_at_times()
    for took_ns in (3_000_000, 3_000_000, 3_000_000, 70_000_000):
        stats.send_times.observe(took_ns)
    stats.receive_times.observe(1_000_000)
    page = await desk.get(f"/q/{ACCOUNT}/orders")
    await sampler.sample()
    first = [await newest(desk, f"/q/{ACCOUNT}/orders/chart?kind={kind}") for kind in ("half", "most")]
    desk.bench.clock.advance_ms(5_000)
    await sampler.sample()

    assert "chart?kind=half" in page.text
    assert "chart?kind=most" in page.text
    assert "neither long-poll waiting nor empty receives count" in page.words
    assert first == [
        {"send": 3.146, "receive": 1.049, "delete": None},
        {"send": 83.886, "receive": 1.049, "delete": None},
    ]
    nothing = {"send": None, "receive": None, "delete": None}
    assert await newest(desk, f"/q/{ACCOUNT}/orders/chart?kind=most") == nothing


async def test_an_hour_has_the_worst_five_seconds_of_each_minute(desk: Desk) -> None:
    queue, sampler = await desk.bench.create("orders"), Sampler(desk.bench.engine)
    desk.bench.clock.set_ms(desk.bench.clock.now_ms() // 60_000 * 60_000)
    await desk.bench.send(queue, "one")
    stats = desk.bench.engine.metrics.queues.meet(queue)
    stats.look_at_times()
    for took_ns in (0, 3_000_000, 70_000_000, 1_000_000, 0):
        if took_ns:
            stats.send_times.observe(took_ns)
        await sampler.sample()
        desk.bench.clock.advance_ms(5_000)

    hour = await newest(desk, f"/q/{ACCOUNT}/orders/chart?kind=most&range=1h")
    assert hour == {"send": 83.886, "receive": None, "delete": None}


async def test_a_queue_without_calls_has_no_times(desk: Desk) -> None:
    await desk.bench.create("quiet")

    assert await newest(desk, f"/q/{ACCOUNT}/quiet/chart?kind=half") == {"send": None, "receive": None, "delete": None}


async def test_a_minute_that_has_only_begun_does_not_look_like_a_fall(desk: Desk) -> None:
    queue, sampler = await desk.bench.create("orders"), Sampler(desk.bench.engine)
    desk.bench.clock.set_ms(desk.bench.clock.now_ms() // 60_000 * 60_000)
    for _ in range(15):
        await desk.bench.send(queue, *["x"] * 10)
        await sampler.sample()
        desk.bench.clock.advance_ms(5_000)
    desk.bench.clock.advance_ms(-5_000)

    told = json.loads((await desk.get(f"/q/{ACCOUNT}/orders/chart?kind=rates&range=1h")).text)

    assert told["data"][1][-2:] == [2.0, 2.0]


@pytest.mark.parametrize("kind", ["depth", "age", "rates"])
async def test_a_queue_without_metrics_of_its_own_has_gaps_not_zeros(kind: str) -> None:
    desk = await make_desk(bench=await measured_bench(NodeMetrics(places=0)))
    queue = await desk.bench.create("orders")
    await desk.bench.send(queue, "one")
    await Sampler(desk.bench.engine).sample()

    points = await newest(desk, f"/q/{ACCOUNT}/orders/chart?kind={kind}")
    await desk.client.close()

    assert set(points.values()) == {None}
