"""Scrapes of nodes in two data centres: a queue's messages are told once, by the data centre that is home to it."""

from __future__ import annotations

import pytest

from cqs.errors import StoreUnavailable
from cqs.queue import Queue
from cqs.service import statistics
from cqs.service.homes import BELIEVED_MS
from tests.cluster import Town
from tests.datacenters import move_to, two
from tests.engine import Bench


async def ready(bench: Bench, queue: Queue) -> int | None:
    """Returns how many messages a scrape of the node tells; None = it tells nothing of queues."""
    metrics, leadership = bench.engine.metrics, bench.engine.cluster.leadership
    metrics.is_leader = lambda: leadership.is_held
    metrics.queues.meet(queue)
    depths = (await statistics.snapshot(bench.engine)).depths
    return None if depths is None else next(one.counts.ready for one in depths if one.uid == queue.uid)


async def test_a_queue_is_counted_by_its_home_wherever_the_leader_is() -> None:
    town, a, b, queue = await two()
    await a.send(queue, "one", "two")
    assert (a.engine.cluster.leadership.is_held, b.engine.cluster.leadership.is_held) == (True, False)
    assert [await ready(bench, queue) for bench in (a, b)] == [2, 0]

    await move_to(town, b, queue)
    await b.send(queue, "three", "four", "five")

    assert [await ready(bench, queue) for bench in (a, b)] == [0, 3]


async def test_one_node_of_a_data_centre_tells() -> None:
    town, a, _, queue = await two()
    second = await town.node("a2", "dc1")
    await town.beat()
    await a.send(queue, "one")

    assert [await ready(bench, queue) for bench in (a, second)] == [1, None]


async def left_behind() -> tuple[Town, Bench, Queue]:
    """The home moved while the first data centre was down, so its cache still has messages. Returns a node started
    there since."""
    town, a, b, queue = await two()
    await a.send(queue, "one", "two")
    await town.kill("a")
    await move_to(town, b, queue)
    returned = await town.node("a", "dc1")
    await town.beat()
    await statistics.survey(returned.engine, [queue])
    depth = returned.engine.metrics.depths.get(queue.uid)
    assert depth is not None and depth.messages == 2
    return town, returned, queue


async def test_what_a_lost_home_left_in_its_cache_is_not_counted() -> None:
    _, returned, queue = await left_behind()

    assert await ready(returned, queue) == 0


async def test_while_homes_cannot_be_read_a_scrape_tells_what_the_cache_has(monkeypatch: pytest.MonkeyPatch) -> None:
    town, returned, queue = await left_behind()
    town.clock.advance_ms(BELIEVED_MS)

    async def away(*_: object) -> None:
        raise StoreUnavailable("no quorum")

    monkeypatch.setattr(returned.engine.cluster.coordination, "home", away)
    await returned.engine.cluster.tending.renew()

    assert await ready(returned, queue) == 2
