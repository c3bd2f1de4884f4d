"""A queue is deleted, or may be: what nodes know about it, and what calls in progress on it do."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from cqs.cache.interface import Residency
from cqs.errors import CacheUnavailable, OutcomeUnknown, ServiceUnavailable, StoreUnavailable
from cqs.queue import Queue
from cqs.service import queues
from cqs.service.engine import Engine, shard_of
from cqs.service.hearing import HEARD_MS
from cqs.service.send import Draft, send_batch
from tests.cluster import Cut, two_nodes, waits_for_marks
from tests.engine import make_bench


async def test_delete_with_a_lost_answer_takes_no_more_messages() -> None:
    bench = await make_bench()
    queue = await bench.create("orders")
    bench.store.fail("drop", OutcomeUnknown("lost answer"), is_done=True)

    await queues.delete(bench.engine, queue)

    assert bench.engine.registry.get(queue.key) is None


async def test_delete_that_did_not_happen_is_told_as_unknown_and_the_queue_stays() -> None:
    bench = await make_bench()
    queue = await bench.create("orders")
    await bench.send(queue, "one")
    bench.store.fail("drop", OutcomeUnknown("lost call"))

    with pytest.raises(OutcomeUnknown):
        await queues.delete(bench.engine, queue)

    assert await bench.bodies(queue) == ["one"]


@pytest.mark.parametrize("end", [queues.delete, queues.purge])
async def test_calls_that_hold_a_queue_of_before_leave_no_shard_behind(
    end: Callable[[Engine, Queue], Awaitable[None]],
) -> None:
    bench = await make_bench()
    queue = await bench.create("orders")
    await bench.send(queue, "one")
    await end(bench.engine, queue)

    await bench.receive(queue)
    await bench.send(queue, "late")
    await bench.engine.background.drain()

    assert (await bench.cache.state(shard_of(queue))).residency is Residency.ABSENT


async def test_a_stored_message_is_never_told_as_not_written() -> None:
    town, a, b, queue = await two_nodes()
    await town.cache.drop(shard_of(queue))
    town.store.fail("find", StoreUnavailable("away"))

    with pytest.raises(OutcomeUnknown):
        await b.send(queue, "one")

    assert [message.body for message in await a.stored(queue)] == ["one"]


async def test_a_batch_that_is_stored_in_part_is_never_told_as_not_written(monkeypatch: pytest.MonkeyPatch) -> None:
    waits_for_marks(monkeypatch)
    town, a, b, queue = await two_nodes("orders.fifo")
    drafts = [Draft(body, group="g", dedup_id=body) for body in ("one", "two")]
    await send_batch(a.engine, queue, drafts[:1], "sender")
    town.store.fail("read", StoreUnavailable("away"), times=2)

    with pytest.raises(OutcomeUnknown):
        await send_batch(b.engine, queue, drafts, "sender")

    assert [message.body for message in await a.stored(queue)] == ["one", "two"]


async def test_send_past_the_cache_to_a_queue_that_another_node_has_just_purged_is_not_acknowledged() -> None:
    town, a, b, queue = await two_nodes()
    await queues.purge(a.engine, queue)
    Cut(town, "b").cut(is_known=False)

    with pytest.raises(ServiceUnavailable, match="purged"):
        await b.send(queue, "new")
    await b.send(b.engine.registry.find(queue.key), "again")

    assert [message.body for message in await a.stored(a.engine.registry.find(queue.key))] == ["again"]


async def test_purge_that_could_not_drop_the_shard_returns_when_all_nodes_have_heard_of_it() -> None:
    town, a, b, queue = await two_nodes()
    town.cache.fail("drop", CacheUnavailable("lost"))
    waited: list[int] = []

    async def pause(duration_ms: int) -> None:
        waited.append(duration_ms)
        await town.beat()

    await queues.purge(a.engine, queue, pause)
    await b.send(b.engine.registry.find(queue.key), "new")

    assert waited == [HEARD_MS]
    assert [message.body for message in await a.stored(a.engine.registry.find(queue.key))] == ["new"]


async def test_a_node_that_was_stopped_acknowledges_nothing_behind_a_purge_that_could_not_drop_the_shard() -> None:
    town, a, b, queue = await two_nodes()
    town.cache.fail("drop", CacheUnavailable("lost"))

    await queues.purge(a.engine, queue, town.pause_of("a"))
    with pytest.raises(ServiceUnavailable, match="purged"):
        await b.send(queue, "lost")
    await b.send(b.engine.registry.find(queue.key), "again")

    assert [message.body for message in await a.stored(a.engine.registry.find(queue.key))] == ["again"]
