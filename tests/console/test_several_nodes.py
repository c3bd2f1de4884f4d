"""Two nodes behind a load balancer: a browser's next request may reach the other node, which does not have the first
node's pending work."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from admin.jobs import Job
from tests.console.desk import Desk
from tests.engine import ACCOUNT


@pytest.fixture
async def pair(desk: Desk) -> AsyncIterator[tuple[Desk, Desk]]:
    """Consoles of two nodes, each with a pending change."""
    nodes = await desk.neighbour(), await desk.neighbour()
    for node, name in zip(nodes, ("orders", "mails"), strict=True):
        await desk.bench.create(name)
        await node.post("/queues/purge", chosen=name, typed=name)
    yield nodes
    for node in nodes:
        await node.client.close()


async def test_an_undo_that_comes_to_the_wrong_node_calls_off_nothing_else(pair: tuple[Desk, Desk]) -> None:
    here, there = pair
    (meant,) = here.console.grace.of(ACCOUNT)

    words = (await there.post(f"/undo/{meant.number}")).words

    assert "Cancelled" not in words
    assert [one.text for one in there.console.grace.of(ACCOUNT)] == ["mails will be purged"]
    assert here.console.grace.of(ACCOUNT) == [meant]


async def test_a_job_is_not_stopped_in_place_of_another_nodes(pair: tuple[Desk, Desk]) -> None:
    here, there = pair
    is_over = asyncio.Event()

    async def work(job: Job) -> None:
        await is_over.wait()

    meant = here.console.jobs.start("here", "local", ACCOUNT, work)
    other = there.console.jobs.start("there", "local", ACCOUNT, work)

    words = (await there.post(f"/moves/job/{meant.number}/stop")).words

    assert "Only the node and the worker that began a job know of it." in words
    assert other.is_wanted
    is_over.set()
