"""A world with metrics and their pages mounted; scrapes of it are parsed by the Prometheus library."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

from prometheus_client.openmetrics import parser as openmetrics
from prometheus_client.parser import text_string_to_metric_families

from cqs.api.metrics_page import metrics_mounts
from cqs.api.origins import Origins
from cqs.metrics.node import NodeMetrics
from cqs.service.statistics import Sampler
from cqs.witnesses import Witnesses
from tests.engine import Bench, make_bench
from tests.protocol.world import Answer, Door, World, make_world

OPENMETRICS = "application/openmetrics-text; version=1.0.0"


async def measured_bench(metrics: NodeMetrics | None = None, **parts: Any) -> Bench:
    """A bench with metrics."""
    bench = await make_bench(**parts)
    metrics = metrics or NodeMetrics()
    witness = Witnesses(bench.witness, metrics.witness)
    return replace(bench, engine=replace(bench.engine, witness=witness, metrics=metrics))


@dataclass(frozen=True, slots=True)
class Measured:
    """The world, its listening server, and the contents of its pages."""

    world: World
    door: Door

    @property
    def bench(self) -> Bench:
        return self.world.bench

    async def sample(self) -> None:
        await Sampler(self.bench.engine).sample()

    async def get(self, path: str, accept: str = "") -> Answer:
        return await self.door.exchange(f"GET {path} HTTP/1.1\r\nHost: a\r\nAccept: {accept}\r\n\r\n".encode())

    async def scrape(self, path: str = "/metrics") -> dict[str, float]:
        """Returns values by name and labels, `name{queue="x"}`, without the label `account`."""
        answer = await self.get(path)
        assert answer.status == 200
        return samples_of(answer.body.decode())

    async def beans(self, query: str = "") -> dict[str, dict[str, Any]]:
        answer = await self.get("/jmx" + query)
        assert answer.status == 200
        return {bean["name"]: bean for bean in json.loads(answer.body)["beans"]}


@asynccontextmanager
async def measured(metrics: NodeMetrics | None = None, **parts: Any) -> AsyncIterator[Measured]:
    world = await make_world(bench=await measured_bench(metrics, **parts))
    async with world.listening(mounts=metrics_mounts(world.bench.engine, Origins())) as door:
        yield Measured(world, door)


def samples_of(text: str, *, is_openmetrics: bool = False) -> dict[str, float]:
    parse = openmetrics.text_string_to_metric_families if is_openmetrics else text_string_to_metric_families
    return {
        sample.name + _labels(sample.labels): float(sample.value) for family in parse(text) for sample in family.samples
    }


def _labels(labels: Mapping[str, str]) -> str:
    shown = [f'{name}="{value}"' for name, value in sorted(labels.items()) if name != "account"]
    return "{" + ",".join(shown) + "}" if shown else ""
