"""The text of a scrape, in both formats, equals what the Prometheus library would write."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from prometheus_client.core import Metric
from prometheus_client.openmetrics import parser as openmetrics
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.registry import Collector

from cqs.metrics.collector import exposition
from cqs.queue import Redrive
from tests.protocol.measured import OPENMETRICS, measured, samples_of

QUEUE = '{queue="orders"}'


async def test_openmetrics_is_spoken_to_those_who_ask() -> None:
    async with measured() as node:
        await node.bench.send(node.world.standard, "x")
        answer = await node.get("/metrics", OPENMETRICS)

    assert answer.headers["content-type"].startswith("application/openmetrics-text; version=1.0.0")
    text = answer.body.decode()
    assert text.endswith("# EOF\n")
    assert samples_of(text, is_openmetrics=True)["cqs_messages_sent_total" + QUEUE] == 1


class Reread(Collector):
    """The parsed metrics of a text, for the library to write again."""

    def __init__(self, text: str, *, is_openmetrics: bool) -> None:
        parse = openmetrics.text_string_to_metric_families if is_openmetrics else text_string_to_metric_families
        self._families = list(parse(text))

    def collect(self) -> Iterator[Metric]:
        yield from self._families


@pytest.mark.parametrize("accept", ["", OPENMETRICS])
async def test_text_is_what_the_library_would_write(accept: str) -> None:
    async with measured() as node:
        dead = await node.bench.create("dead")
        await node.bench.create("a-b_c", redrive=Redrive(dead.arn, 1))
        await node.bench.send(node.world.standard, "x", "y" * 5_000)
        await node.bench.send(node.world.fifo, "x", group="g")
        await node.bench.receive(node.world.fifo)
        stats = node.bench.engine.metrics.queues.meet(node.world.standard)
        stats.size_total, stats.received, stats.deleted = 1_234_567, 1_000_000, 123_456_789_012
        node.bench.clock.advance_ms(1_234)
        await node.sample()
        text = (await node.get("/metrics", accept)).body

    again, _ = exposition(Reread(text.decode(), is_openmetrics=bool(accept)), accept)
    assert again.splitlines() == text.splitlines()
