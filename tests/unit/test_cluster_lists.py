"""Nodes that go by different lists of cache servers, which may have no server in common."""

from __future__ import annotations

import pytest

from cqs.service import residency
from cqs.service.membership import Listed
from tests.cluster import PLACE, Town
from tests.engine import Bench

OLD, OTHER, NEW = "1 aa", "1 bb", "2 cc"


class Servers(Listed):
    """A list, and the one that it gave way to."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.other = ""

    @property
    def in_use(self) -> str:
        return "" if self.other else self.text

    def give_way(self, other: str) -> None:
        self.other = other


async def open_again(town: Town, bench: Bench, *beating: str) -> int:
    """The node starts, while these beat; how often it looked in vain."""
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
    c.engine.cluster.membership._listed = new

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
    a.engine.cluster.membership._listed = late

    assert await open_again(town, a, "b") == 0
    await town.beat()

    assert (late.other, first.other) == (first.text, "")


async def test_a_list_is_used_again_when_no_node_goes_by_the_newer_one_any_more() -> None:
    town = Town()
    old = Servers(OLD)
    await town.node("a", listed=old)
    b = await town.node("b")
    b.engine.cluster.membership._listed = Servers(NEW)
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
