"""Two nodes with the same name."""

from __future__ import annotations

import pytest

from cqs.errors import ServiceUnavailable
from cqs.service import heartbeat
from cqs.service.membership import BEAT_MS, LIFE_MS
from tests.cluster import Town
from tests.engine import Bench


async def beat(town: Town, *benches: Bench) -> None:
    for bench in benches:
        town.clock.advance_ms(BEAT_MS)
        await heartbeat.step(bench.engine)


async def test_the_elder_of_two_nodes_of_one_name_takes_no_messages_until_the_other_is_gone() -> None:
    town = Town()
    elder = await town.node("a")
    queue = await elder.create("orders")
    town.clock.advance_ms(1)
    younger = await town.node("a")
    membership = elder.engine.cluster.membership

    await beat(town, younger, elder, younger, elder, younger)

    assert "node_name" in membership.name_problem()
    assert membership.name_trouble() == ""
    with pytest.raises(ServiceUnavailable, match="also named a"):
        await elder.send(queue, "one")
    assert younger.engine.cluster.membership.name_problem() == ""
    assert "An older node is also named a" in younger.engine.cluster.membership.name_trouble()
    await younger.send(queue, "of the younger one")

    town.clock.advance_ms(LIFE_MS)
    await beat(town, elder)
    await elder.send(queue, "two")
    assert membership.name_problem() == ""


async def test_a_nodes_former_life_is_no_namesake_though_the_clock_was_set_back() -> None:
    town = Town()
    town.clock.advance_ms(60_000)
    former = await town.node("a")
    await beat(town, former)
    town.clock.advance_ms(-3_000)
    node = await town.node("a")

    await beat(town, node, node)

    assert node.engine.cluster.membership.name_trouble() == ""
    assert node.engine.cluster.membership.name_problem() == ""
