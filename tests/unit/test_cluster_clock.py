"""A node whose clock is wrong accepts no messages."""

from __future__ import annotations

import pytest

from cqs.errors import ServiceUnavailable
from cqs.service.membership import AHEAD_MS_MAX
from tests.cluster import Town
from tests.engine import Bench


def put_clock(town: Town, bench: Bench, ahead_ms: int) -> None:
    """Sets the node's own clock, but not those of the other nodes and of the store."""

    async def store_ms() -> int:
        return town.clock.now_ms() - ahead_ms

    bench.engine.cluster.coordination.now_ms = store_ms  # type: ignore[method-assign]


@pytest.mark.parametrize("ahead_ms", [3_600_000, -3_600_000, AHEAD_MS_MAX + 1])
async def test_a_node_with_a_wrong_clock_refuses_sends_and_says_so_until_it_is_right(ahead_ms: int) -> None:
    town = Town()
    a, b = await town.node("a"), await town.node("b")
    queue = await a.create("orders")
    await a.send(queue, "before")
    put_clock(town, a, ahead_ms)
    await town.beat()

    with pytest.raises(ServiceUnavailable, match="clock"):
        await a.send(queue, "one")
    with pytest.raises(ServiceUnavailable, match="clock"):
        await a.create("more")
    assert a.engine.cluster.membership.clock_problem()
    assert await a.bodies(queue) == ["before"]
    await b.send(queue, "two")

    put_clock(town, a, 0)
    await town.beat()
    await a.send(queue, "three")
    assert a.engine.cluster.membership.clock_problem() == ""
    assert await b.bodies(queue) == ["two", "three"]


async def test_a_little_off_is_no_matter() -> None:
    town = Town()
    a = await town.node("a")
    queue = await a.create("orders")
    put_clock(town, a, AHEAD_MS_MAX)
    await town.beat()

    await a.send(queue, "one")
