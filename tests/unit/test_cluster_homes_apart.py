"""Two data centres act concurrently or without knowing of each other: purges, first homes, changes of a queue."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from cqs.cache.interface import Residency
from cqs.errors import QueueDoesNotExist, ServiceUnavailable
from cqs.queue import Queue, QueueName
from cqs.service import lookup, queues, residency
from cqs.service.delete import delete
from cqs.service.engine import shard_of
from cqs.service.hearing import HEARD_MS
from cqs.service.homes import BELIEVED_MS, CHECK_MS, GRACE_MS, HOLD_MS, Homes
from cqs.store.coordination import Home, News
from tests.cluster import Town
from tests.datacenters import SECOND_MS, drain, pass_ms, two, unserved
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


async def test_a_home_that_was_stopped_acknowledges_nothing_sent_after_a_purge_that_it_has_not_heard_of() -> None:
    town, a, b, queue = await two()

    await queues.purge(b.engine, queue, town.pause_of("b"))
    with pytest.raises(ServiceUnavailable, match="purged"):
        await a.send(queue, "lost")
    await a.send(a.engine.registry.find(queue.key), "again")

    assert await a.bodies(a.engine.registry.find(queue.key)) == ["again"]


async def test_a_home_that_was_stopped_looks_at_the_queue_once_and_not_for_each_send(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    town, a, _, queue = await two()
    looks: list[QueueName] = []
    find = a.store.find

    async def watched(key: QueueName) -> Queue | None:
        looks.append(key)
        return await find(key)

    monkeypatch.setattr(a.store, "find", watched)
    town.clock.advance_ms(HEARD_MS)
    for body in ("one", "two", "three"):
        await a.send(queue, body)

    assert looks == [queue.key]


async def test_what_is_sent_to_a_queue_created_anew_after_a_deletion_through_another_data_centre_is_kept() -> None:
    town, a, b, queue = await two()

    async def pause(ms: int) -> None:
        await pass_ms(town, ms)

    await queues.delete(b.engine, queue, pause)
    new = await b.create(queue.name)
    with pytest.raises(QueueDoesNotExist):
        a.engine.registry.find(queue.key)
    await a.send(await lookup.find(a.engine, queue.key), "after")

    assert [message.body for message in await b.stored(new)] == ["after"]


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
    async with asyncio.timeout(60):
        await town.beat()


async def test_nothing_is_remembered_of_homes_of_queues_that_are_gone() -> None:
    town, a, b, queue = await two()
    await a.send(queue, "one")
    await b.receive(queue)
    await queues.delete(b.engine, queue)
    await pass_ms(town, CHECK_MS + BELIEVED_MS + 2 * SECOND_MS)

    assert not homes_of(a).count
    assert not homes_of(b).count


async def test_what_a_home_took_before_it_heard_that_it_is_none_any_more_keeps_its_place() -> None:
    town, a, b, queue = await two("orders.fifo")
    await a.send(queue, "one", "two")
    with pytest.MonkeyPatch.context() as patched:
        await cut_off(a, queue, patched)
        await draw_home(town, b, queue)
        (one,) = await a.receive(queue, 1)
        await delete(a.engine, queue, one.handle)
        await a.send(queue, "three")
        town.clock.advance_ms(1)
        await b.send(queue, "four")
    await pass_ms(town, 2 * SECOND_MS)
    residency.ensure(b.engine, queue)
    await pass_ms(town, SECOND_MS)

    assert await drain(b, queue) == ["two", "three", "four"]


async def cut_off(bench: Bench, queue: Queue, patched: pytest.MonkeyPatch) -> None:
    """Cuts the node's data centre off from the other one."""
    coordination, known = bench.engine.cluster.coordination, await homes_of(bench).look(shard_of(queue))

    async def home(*_: object) -> Home | None:
        return known

    async def news() -> list[News]:
        return []

    patched.setattr(coordination, "home", home)
    patched.setattr(coordination, "news", news)


async def draw_home(town: Town, bench: Bench, queue: Queue) -> None:
    """Asks for the queue, like receives that get nothing, until the node's data centre is its home and its cache is
    filled."""
    await pass_ms(town, HOLD_MS)
    for _ in range(3 * GRACE_MS // SECOND_MS):
        residency.ensure(bench.engine, queue)
        await pass_ms(town, SECOND_MS)
    assert (await bench.cache.state(shard_of(queue))).residency is Residency.READY
