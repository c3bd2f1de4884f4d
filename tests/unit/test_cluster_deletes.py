"""A message deleted through one node reappears through no other, even if the delete never reached the cache, or the
node had not heard of a purge."""

from __future__ import annotations

import asyncio

import pytest

from cqs.errors import OutcomeUnknown, QueueDoesNotExist, StoreUnavailable
from cqs.queue import Queue
from cqs.service import queues
from cqs.service.delete import delete
from cqs.service.deliver import Delivery
from cqs.service.engine import shard_of
from cqs.service.marking import FRESH_S, is_doubted, run
from cqs.service.visibility import change
from cqs.store.coordination import DirtyMark
from tests.cluster import Cut, Town, two_nodes, waits_for_marks
from tests.engine import Bench

SECOND_MS = 1_000


@pytest.fixture(autouse=True)
def waited(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Records, in ms, the waits until marks are known; nobody really waits."""
    return waits_for_marks(monkeypatch)


async def reveal(town: Town, queue: Queue) -> None:
    await town.cache.reveal(shard_of(queue), queue.settings.retention_ms, 100)


async def test_a_delete_is_acknowledged_when_no_other_node_hands_the_message_out(waited: list[int]) -> None:
    town, a, b, queue = await two_nodes()
    await a.send(queue, "one", "two")
    (one,) = await a.receive(queue, 1, visibility_ms=SECOND_MS // 2)
    Cut(town, "a").cut(is_known=False)

    await delete(a.engine, queue, one.handle)
    town.clock.advance_ms(sum(waited) + 1)
    await reveal(town, queue)

    assert await b.bodies(queue) == ["two"]
    assert waited == [FRESH_S * 1_000]


async def test_only_the_first_delete_of_an_outage_waits(waited: list[int]) -> None:
    town, a, _, queue = await two_nodes()
    await a.send(queue, "one", "two")
    one, two_ = await a.receive(queue)
    Cut(town, "a").cut(is_known=False)
    await delete(a.engine, queue, one.handle)
    town.clock.advance_ms(SECOND_MS)

    await delete(a.engine, queue, two_.handle)

    assert len(waited) == 1


async def test_a_delete_that_the_others_can_not_be_told_of_is_not_acknowledged() -> None:
    town, a, b, queue = await two_nodes()
    await a.send(queue, "one")
    (one,) = await a.receive(queue, visibility_ms=SECOND_MS)
    Cut(town, "a").cut(is_known=False)
    coordination = a.engine.cluster.coordination
    mark_dirty = coordination.mark_dirty

    async def fails(mark: DirtyMark, datacenter: str = "") -> None:
        raise StoreUnavailable("away")

    coordination.mark_dirty = fails  # type: ignore[method-assign]
    with pytest.raises(OutcomeUnknown, match="could not be told"):
        await delete(a.engine, queue, one.handle)

    coordination.mark_dirty = mark_dirty  # type: ignore[method-assign]
    await delete(a.engine, queue, one.handle)
    town.clock.advance_ms(SECOND_MS + 1)
    await reveal(town, queue)
    assert await b.bodies(queue) == []


async def test_a_node_out_of_reach_of_the_cache_serves_from_the_store_when_the_others_know() -> None:
    town, a, b, queue = await two_nodes()
    await a.send(queue, "one", "two")
    Cut(town, "a").cut(is_known=False)

    first = await a.bodies(queue)
    taken = [one.message.body for one in await b.receive(queue, 1)]
    town.clock.advance_ms(round(FRESH_S * 1_000))
    given = [one.message.body for one in await a.receive(queue, 1)]

    assert first == []
    assert sorted(taken + given) == ["one", "two"]
    assert await b.bodies(queue) == []


async def test_marks_are_looked_at_often_enough_to_believe_the_cache_and_a_store_that_is_away_is_asked_again() -> None:
    town, a, _, queue = await two_nodes()
    town.clock.advance_ms(SECOND_MS)
    doubted: list[bool] = []
    coordination = a.engine.cluster.coordination
    dirty_marks = coordination.dirty_marks

    async def away() -> list[DirtyMark]:
        raise StoreUnavailable("away")

    async def pause(ms: int) -> None:
        doubted.append(is_doubted(a.engine, shard_of(queue)))
        coordination.dirty_marks = away if len(doubted) in range(3, 8) else dirty_marks  # type: ignore[method-assign]
        town.clock.advance_ms(ms)
        if len(doubted) == 10:
            raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        await run(a.engine, pause)

    assert doubted == [False] * 6 + [True] * 2 + [False] * 2


async def test_a_mark_outlasts_a_beat_while_the_store_is_served_from_under_it() -> None:
    town, a, _, queue = await two_nodes()
    await a.send(queue, "one")
    town.cache.cut()

    answers = []
    for _ in range(3):
        answers.append(await a.bodies(queue))
        town.clock.advance_ms(round(FRESH_S * 1_000))
        await town.beat()

    assert answers == [[], ["one"], []]


async def received_after_a_purge(node: Bench, queue: Queue) -> tuple[Queue, Delivery]:
    """Purges the queue through that node, which then sends and receives a message; returns the queue, and it."""
    await queues.purge(node.engine, queue)
    purged = node.engine.registry.find(queue.key)
    await node.send(purged, "one")
    (one,) = await node.receive(purged, visibility_ms=SECOND_MS)
    return purged, one


@pytest.mark.parametrize("name", ["orders", "orders.fifo"])
async def test_a_delete_through_a_node_that_has_not_heard_of_a_purge_deletes(name: str) -> None:
    town, a, b, queue = await two_nodes(name)
    purged, one = await received_after_a_purge(a, queue)

    await delete(b.engine, queue, one.handle)
    town.clock.advance_ms(SECOND_MS + 1)
    await reveal(town, purged)

    assert await a.bodies(purged) == []
    assert b.engine.registry.find(queue.key).generation == purged.generation


async def test_a_delete_in_a_queue_that_was_deleted_and_created_again_says_that_it_is_gone() -> None:
    _, a, b, queue = await two_nodes()
    await a.send(queue, "one")
    (one,) = await a.receive(queue)
    await queues.delete(a.engine, queue)
    await a.create("orders")

    with pytest.raises(QueueDoesNotExist):
        await delete(b.engine, queue, one.handle)


@pytest.mark.parametrize("name", ["orders", "orders.fifo"])
async def test_a_visibility_change_through_a_node_that_has_not_heard_of_a_purge_is_made(name: str) -> None:
    town, a, b, queue = await two_nodes(name)
    purged, one = await received_after_a_purge(a, queue)

    await change(b.engine, queue, one.handle, 10 * SECOND_MS)
    town.clock.advance_ms(SECOND_MS + 1)
    await reveal(town, purged)

    assert await a.bodies(purged) == []
    (lease,) = await a.engine.store.leases(purged, [one.received.address])
    assert lease is not None and lease.hidden_until_ms == one.received.received_ms + 10 * SECOND_MS
