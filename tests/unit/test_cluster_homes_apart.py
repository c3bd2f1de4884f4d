"""What two data centres do at one moment, or one does past the other: purges, first homes, changes of one queue."""

from __future__ import annotations

import asyncio

import msgspec

from cqs.service import queues
from cqs.service.engine import shard_of
from cqs.service.homes import BELIEVED_MS, CHECK_MS, Homes
from cqs.store.coordination import Home
from tests.cluster import Town
from tests.datacenters import SECOND_MS, pass_ms, two, unserved
from tests.engine import Bench


def homes_of(bench: Bench) -> Homes:
    homes = bench.engine.cluster.homes
    assert homes is not None
    return homes


async def test_what_is_sent_after_a_purge_through_another_data_centre_is_kept() -> None:
    town, a, b, queue = await two()
    await a.send(queue, "before")

    async def pause(ms: int) -> None:
        await pass_ms(town, ms)

    await queues.purge(b.engine, queue, pause)
    await a.send(a.engine.registry.find(queue.key), "after")

    assert await a.bodies(a.engine.registry.find(queue.key)) == ["after"]


async def test_of_two_data_centres_that_take_a_first_home_at_one_moment_one_lets_go_at_the_next_beat() -> None:
    town, a, b, queue = await unserved()
    shard = shard_of(queue)
    assert await homes_of(a).take(shard)
    assert await homes_of(a).is_here(shard)

    town.shared.homes.clear()
    assert await homes_of(b).take(shard)
    await town.beat()

    assert not await homes_of(a).is_here(shard)
    assert await homes_of(b).is_here(shard)


async def test_a_home_that_was_not_replicated_yet_is_looked_for_again_when_news_tell_of_it() -> None:
    town, a, b, queue = await unserved()
    shard = shard_of(queue)
    assert await homes_of(b).look(shard) is None

    await homes_of(a).take(shard)
    await town.beat("b")

    assert await homes_of(b).look(shard) == town.shared.homes[queue.uid, 0]


async def test_of_two_changes_that_made_the_same_version_all_nodes_know_the_one_that_stayed() -> None:
    town, a, b, queue = await two()
    mine = await queues.change_settings(a.engine, queue, {"visibility_ms": 5_000})
    theirs = msgspec.structs.replace(mine, settings=msgspec.structs.replace(mine.settings, visibility_ms=7_000))
    b.engine.registry.put(theirs)

    await town.beat()

    assert a.engine.registry.find(queue.key) == b.engine.registry.find(queue.key) == mine


async def test_homes_in_use_are_checked_side_by_side() -> None:
    town = Town()
    a = await town.node("a", "dc1")
    for number in range(8):
        queue = await a.create(f"orders-{number}")
        await a.send(queue, "one")
    await town.beat()
    coordination, all_ask = a.engine.cluster.coordination, asyncio.Barrier(8)
    home = coordination.home

    async def together(queue_uid: int, shard: int) -> Home | None:
        await all_ask.wait()
        return await home(queue_uid, shard)

    coordination.home = together  # type: ignore[method-assign]
    town.clock.advance_ms(CHECK_MS)
    async with asyncio.timeout(10):
        await town.beat()


async def test_nothing_is_remembered_of_homes_of_queues_that_are_gone() -> None:
    town, a, b, queue = await two()
    await a.send(queue, "one")
    await b.receive(queue)
    await queues.delete(b.engine, queue)
    await pass_ms(town, CHECK_MS + BELIEVED_MS + 2 * SECOND_MS)

    assert not homes_of(a).count
    assert not homes_of(b).count
