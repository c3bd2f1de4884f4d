"""Which nodes are alive, which one is the leader, and what a node finds when it joins others."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from cqs.cache.interface import Residency, Shard
from cqs.errors import CacheUnavailable, CannotStart
from cqs.service import move_tasks
from cqs.service.engine import shard_of
from cqs.service.leadership import LEASE_MS
from cqs.store.interface import MoveStatus
from tests.cluster import Town
from tests.engine import until
from tests.unit.dead_letters import with_dead_letters


async def test_nodes_know_each_other_and_one_of_them_leads() -> None:
    town = Town()
    a, b = await town.node("a"), await town.node("b")
    await town.beat()
    await town.beat("a")

    assert [node.name for node in await a.engine.cluster.nodes()] == ["a", "b"]
    assert [bench.engine.cluster.leadership.is_held for bench in (a, b)] == [True, False]


async def test_the_lead_passes_on_when_its_holder_dies_and_the_holder_stops_first() -> None:
    town = Town()
    a, b = await town.node("a"), await town.node("b")
    await town.beat()
    town.clock.advance_ms(LEASE_MS - 1)
    assert a.engine.cluster.leadership.is_held

    town.clock.advance_ms(1)
    assert not a.engine.cluster.leadership.is_held
    await town.beat("b")

    assert b.engine.cluster.leadership.is_held


async def test_a_node_that_leaves_is_gone_and_leads_no_more() -> None:
    town = Town()
    a, b = await town.node("a"), await town.node("b")
    await town.beat()

    await a.engine.cluster.leave()
    town.clock.advance_ms(3_000)
    await town.beat("a", "b")

    assert [node.name for node in await b.engine.cluster.nodes()] == ["b"]
    assert b.engine.cluster.leadership.is_held


async def test_a_node_that_starts_among_others_leaves_their_shards_alone() -> None:
    town = Town()
    a = await town.node("a")
    queue = await a.create("orders")
    await a.send(queue, "one", "two")
    assert len(await a.receive(queue, 1)) == 1
    epoch = (await town.cache.state(shard_of(queue))).epoch

    b = await town.node("b")

    assert (await town.cache.state(shard_of(queue))).epoch == epoch
    assert len(await b.receive(queue)) == 1
    assert await b.receive(queue) == []


async def test_the_first_node_to_start_fills_anew_what_an_earlier_cluster_left() -> None:
    town = Town()
    a = await town.node("a")
    queue = await a.create("orders")
    await a.send(queue, "one")
    await town.cache.remove(shard_of(queue), [message.address for message in await a.stored(queue)])
    await town.kill("a")
    town.clock.advance_ms(60_000)

    b = await town.node("b")

    assert await b.bodies(queue) == ["one"]


async def test_a_node_that_is_back_before_its_life_ran_out_is_the_first_one_all_the_same() -> None:
    town = Town()
    a = await town.node("a")
    queue = await a.create("orders")
    epoch = (await town.cache.state(shard_of(queue))).epoch
    town.clock.advance_ms(LEASE_MS)

    await town.node("a")

    after = await town.cache.state(shard_of(queue))
    assert (after.residency, after.epoch != epoch) == (Residency.READY, True)


async def test_of_two_nodes_that_start_at_once_one_fills_and_the_other_waits_for_it() -> None:
    town = Town()
    a = await town.node("a")
    queue = await a.create("orders")
    await a.send(queue, "one")
    await town.kill("a")
    town.clock.advance_ms(60_000)
    town.cache.slow("drop", "fill")

    b, c = await asyncio.gather(town.node("b"), town.node("c"))

    assert await b.bodies(queue) + await c.bodies(queue) == ["one"]


async def test_a_move_task_of_one_node_is_carried_out_by_the_leader_and_seen_by_all() -> None:
    town, a, b, queue, dead = await with_dead_letters("one", "two")
    handle = await move_tasks.start(b.engine, dead.arn, queue.arn, 0)
    assert b.engine.moves.active()
    runners = [asyncio.create_task(move_tasks.run(node.engine)) for node in (a, b)]
    await town.beat()
    await until(lambda: a.engine.moves.get(handle) is not None and not a.engine.moves.active())

    listed = await move_tasks.listed(b.engine, dead.arn, 1)
    assert [(task.status, task.moved) for task in listed] == [(MoveStatus.COMPLETED, 2)]
    assert sorted(await b.bodies(queue)) == ["one", "two"]
    for runner in runners:
        runner.cancel()
    await asyncio.gather(*runners, return_exceptions=True)


async def test_a_cancel_through_another_node_reaches_the_leader() -> None:
    town, a, b, queue, dead = await with_dead_letters("one")
    handle = await move_tasks.start(a.engine, dead.arn, queue.arn, 1)
    await town.beat()

    await move_tasks.cancel(b.engine, handle)
    await town.beat()

    task = a.engine.moves.get(handle)
    assert task is not None
    assert task.status is MoveStatus.CANCELLING


async def test_a_cancel_outlives_a_leader_that_saved_its_progress_over_it_and_died() -> None:
    town, a, b, queue, dead = await with_dead_letters("one", "two")
    handle = await move_tasks.start(a.engine, dead.arn, queue.arn, 1)
    started = a.engine.moves.get(handle)
    assert started is not None
    await town.beat()

    await move_tasks.cancel(b.engine, handle)
    await a.store.save_move_task(msgspec.structs.replace(started, moved=1))
    await town.kill("a")
    town.clock.advance_ms(LEASE_MS)
    await town.beat()

    task = b.engine.moves.get(handle)
    assert b.engine.cluster.leadership.is_held
    assert task is not None
    assert (task.status, task.moved) == (MoveStatus.CANCELLING, 1)


async def test_a_node_with_a_cache_of_its_own_does_not_start_among_others(monkeypatch: pytest.MonkeyPatch) -> None:
    town = Town()
    await town.node("a", is_cache_shared=False)

    async def beating(pause_ms: float) -> None:
        town.clock.advance_ms(round(pause_ms * 1_000))
        await town.nodes["a"].engine.cluster.membership.beat()

    monkeypatch.setattr("asyncio.sleep", beating)
    with pytest.raises(CannotStart, match="node a serves"):
        await town.node("b", is_cache_shared=False)


async def test_a_cache_server_that_is_away_at_the_start_keeps_no_queue_of_another_one_from_being_filled_anew() -> None:
    town = Town()
    a = await town.node("a")
    away, jobs = await a.create("away"), await a.create("jobs")
    await a.send(jobs, "one")
    await town.cache.remove(shard_of(jobs), [message.address for message in await a.stored(jobs)])
    await town.kill("a")
    town.clock.advance_ms(60_000)
    drop = town.cache.drop

    async def one_is_away(shard: Shard) -> None:
        if shard == shard_of(away):
            raise CacheUnavailable("its server is away")
        await drop(shard)

    town.cache.drop = one_is_away  # type: ignore[method-assign]

    b = await town.node("b")

    assert await b.bodies(jobs) == ["one"]
