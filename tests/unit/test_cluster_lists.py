"""Nodes with different lists of cache servers, which may have no server in common."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from cqs.service import marking, residency
from cqs.service.engine import shard_of
from cqs.service.lists import SPLIT_LOOKS, Listed
from cqs.service.membership import LIFE_MS
from tests.cluster import PLACE, Town
from tests.engine import Bench

OLD, OTHER, NEW = "1 aa", "1 bb", "2 cc"


class Servers(Listed):
    """A list of servers, and the list that replaced it."""

    def __init__(self, text: str, run_id: str = "r1") -> None:
        self.text = text
        self.other = ""
        self.ids = {PLACE: run_id}
        self.elders: Mapping[str, str] = {}
        self.doubts: list[Mapping[str, str]] = []

    @property
    def run_ids(self) -> Mapping[str, str]:
        return self.ids

    def keep_from(self, others: Mapping[str, str]) -> None:
        self.elders = others

    def doubt(self, others: Mapping[str, str]) -> None:
        self.doubts += [others] if others else []

    @property
    def in_use(self) -> str:
        return "" if self.other else self.text

    def give_way(self, other: str) -> None:
        self.other = other


async def open_again(town: Town, bench: Bench, *beating: str) -> int:
    """Starts the node while these nodes send heartbeats. Returns how often it looked in vain."""
    looks = 0

    async def pause(_: int) -> None:
        nonlocal looks
        looks += 1
        await town.beat(*beating)

    await residency.open_all(bench.engine, pause)
    return looks


async def test_a_node_of_a_newer_list_serves_when_those_of_the_older_one_have_given_way() -> None:
    town = Town()
    old, new = Servers(OLD), Servers(NEW)
    a, b = await town.node("a", listed=old), await town.node("b", listed=old)
    c = await town.node("c")
    c.engine.cluster.membership.lists.listed = new

    assert await open_again(town, c, "a", "b") == 2

    assert (old.in_use, new.in_use) == ("", NEW)
    for one in (a, b):
        assert not one.engine.cluster.membership.tends(PLACE)
    assert c.engine.cluster.membership.tends(PLACE)


@pytest.mark.parametrize("other", [OLD, OTHER])
async def test_a_node_that_starts_with_an_older_list_or_another_of_the_version_gives_way_and_waits_for_nobody(
    other: str,
) -> None:
    town = Town()
    first, late = Servers(NEW if other == OLD else OLD), Servers(other)
    await town.node("b", listed=first)
    town.clock.advance_ms(1)
    a = await town.node("a")
    a.engine.cluster.membership.lists.listed = late

    assert await open_again(town, a, "b") == 0
    await town.beat()

    assert (late.other, first.other) == (first.text, "")


async def test_a_list_is_used_again_when_no_node_goes_by_the_newer_one_any_more() -> None:
    town = Town()
    old = Servers(OLD)
    await town.node("a", listed=old)
    b = await town.node("b")
    b.engine.cluster.membership.lists.listed = Servers(NEW)
    await town.beat("b", "a")
    assert old.in_use == ""

    await town.kill("b")

    assert old.in_use == OLD


async def test_nodes_that_do_not_tell_their_lists_are_waited_for_by_nobody() -> None:
    town = Town()
    await town.node("a")
    b = await town.node("b", listed=Servers(NEW))

    assert await open_again(town, b, "a") == 0
    assert b.engine.cluster.membership.tends(PLACE)


async def test_of_two_nodes_that_reach_two_servers_by_one_name_the_younger_keeps_from_its_own() -> None:
    town = Town()
    first, late = Servers(OLD), Servers(OLD, "r2")
    await town.node("b", listed=first)
    town.clock.advance_ms(1)
    a = await town.node("a")
    a.engine.cluster.membership.lists.listed = late

    assert await open_again(town, a, "b") == 1
    await town.beat()
    await town.beat()

    assert (first.elders, late.elders) == ({}, {PLACE: "r1"})
    assert (first.doubts, late.doubts) == ([{PLACE: "r2"}], [])

    first.ids = {PLACE: "r2"}
    await town.beat("b", "a")
    assert late.elders == {}


async def test_nodes_that_see_a_server_restart_one_after_the_other_reach_one_server() -> None:
    town = Town()
    first, late = Servers(OLD), Servers(OLD)
    await town.node("a", listed=first)
    town.clock.advance_ms(1)
    await town.node("b", listed=late)
    await town.beat()
    town.lost["a"].append(PLACE)
    late.ids = {PLACE: "r2"}
    for _ in range(SPLIT_LOOKS + 1):
        await town.beat()
    town.lost["a"].clear()
    first.ids = {PLACE: "r2"}
    await town.beat("a", "b")

    assert (late.elders, first.doubts) == ({}, [{PLACE: "r2"}])


async def test_a_node_that_leaves_goes_by_no_list() -> None:
    town = Town()
    a = await town.node("a", listed=Servers(OLD))
    await town.beat()

    await a.engine.cluster.leave()

    assert [node.servers for node in await a.engine.cluster.coordination.nodes()] == [""]


async def test_a_node_that_did_not_beat_for_as_long_as_it_lives_does_not_believe_its_cache() -> None:
    town = Town()
    a = await town.node("a")
    queue = await a.create("orders")
    await town.beat()
    assert not marking.is_doubted(a.engine, shard_of(queue))

    town.clock.advance_ms(LIFE_MS)
    await marking.look(a.engine)
    assert marking.is_doubted(a.engine, shard_of(queue))

    await town.beat()
    assert not marking.is_doubted(a.engine, shard_of(queue))
