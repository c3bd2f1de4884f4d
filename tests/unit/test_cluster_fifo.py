"""Order within a FIFO group while two nodes serve the queue and one of them fails."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from cqs.cache.interface import Residency
from cqs.errors import CacheUnavailable, OutcomeUnknown, ServiceUnavailable, StoreUnavailable
from cqs.queue import Queue
from cqs.service import queues, repair, residency, revisibility
from cqs.service.delete import delete
from cqs.service.engine import shard_of
from cqs.service.marking import FRESH_S, LINGER_S
from cqs.service.receive import ReceiveRequest, receive
from cqs.service.send import Draft, send
from cqs.store.interface import Stored
from cqs.store.memory import MemoryStore
from tests.cluster import PLACE, Cut, two_nodes, waits_for_marks
from tests.engine import Bench, until


@pytest.fixture(autouse=True)
def waited(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Records the waits of senders, in ms; nobody really waits."""
    return waits_for_marks(monkeypatch)


async def say(bench: Bench, queue: Queue, body: str) -> None:
    await send(bench.engine, queue, Draft(body, group="g", dedup_id=body), "sender")


async def test_a_put_that_is_lost_holds_back_what_is_sent_later_through_another_node() -> None:
    town, a, b, queue = await two_nodes("orders.fifo")
    town.cache.fail("put", CacheUnavailable("lost"))
    await town.beat()
    sending = asyncio.create_task(say(a, queue, "7"))
    await until(lambda: bool(town.shared.marks))
    town.clock.advance_ms(1_000)
    await town.beat()
    assert await b.bodies(queue) == []
    await sending

    await say(b, queue, "8")
    await town.beat()
    assert await b.bodies(queue) == []
    await repair.step(a.engine)
    await town.beat("a", "b")

    assert await b.bodies(queue) == ["7", "8"]


async def test_the_sender_waits_until_every_node_knows(waited: list[int]) -> None:
    town, a, _, queue = await two_nodes("orders.fifo")
    town.cache.fail("put", CacheUnavailable("lost"), times=2)

    await say(a, queue, "7")
    town.clock.advance_ms(500)
    await say(a, queue, "8")
    town.clock.advance_ms(2_000)
    await say(a, queue, "9")

    assert waited == [FRESH_S * 1_000, FRESH_S * 1_000 - 500]


async def test_a_node_that_has_not_looked_at_the_marks_lately_hands_nothing_out() -> None:
    town, a, b, queue = await two_nodes("orders.fifo")
    await say(a, queue, "7")
    town.clock.advance_ms(2_001)
    assert await b.bodies(queue) == []

    await town.beat("b")

    assert await b.bodies(queue) == ["7"]


async def test_a_node_that_alone_lost_the_cache_refuses_fifo_sends() -> None:
    town, a, _, queue = await two_nodes("orders.fifo")
    Cut(town, "a").cut()

    with pytest.raises(ServiceUnavailable):
        await say(a, queue, "7")


async def test_what_a_dead_node_stored_and_did_not_put_comes_before_what_is_sent_after_its_repetition() -> None:
    town, a, b, queue = await two_nodes("orders.fifo")
    shard = shard_of(queue)
    put, is_stuck = town.cache.put, asyncio.Event()

    async def stuck(*_: object) -> Residency:
        is_stuck.set()
        await asyncio.Event().wait()
        raise AssertionError

    town.cache.put = stuck  # type: ignore[method-assign, assignment]
    dying = asyncio.create_task(say(a, queue, "7"))
    await is_stuck.wait()
    dying.cancel()
    town.cache.put = put  # type: ignore[method-assign]

    await say(b, queue, "7")
    await say(b, queue, "8")
    await town.beat("b")

    assert (await town.cache.counts(shard)).ready == 2
    assert await b.bodies(queue) == ["7", "8"]


async def test_a_repeat_that_the_cache_does_not_confirm_waits_until_every_node_knows(waited: list[int]) -> None:
    town, a, b, queue = await two_nodes("orders.fifo")
    town.cache.fail("put", asyncio.CancelledError())
    with pytest.raises(asyncio.CancelledError):
        await say(a, queue, "7")
    town.cache.fail("put", CacheUnavailable("lost"))

    await say(b, queue, "7")

    assert waited == [FRESH_S * 1_000]


@pytest.mark.parametrize("is_repeat", [False, True])
async def test_a_message_that_no_cache_confirmed_is_not_acknowledged_before_it_is_marked(is_repeat: bool) -> None:
    town, a, b, queue = await two_nodes("orders.fifo")
    if is_repeat:
        town.cache.fail("put", asyncio.CancelledError())
        with pytest.raises(asyncio.CancelledError):
            await say(a, queue, "7")
    town.cache.fail("put", CacheUnavailable("lost"))
    coordination = b.engine.cluster.coordination
    mark_dirty = coordination.mark_dirty

    async def away(*_: object) -> None:
        raise StoreUnavailable("by the test")

    coordination.mark_dirty = away  # type: ignore[method-assign, assignment]
    with pytest.raises(OutcomeUnknown):
        await say(b, queue, "7")
    coordination.mark_dirty = mark_dirty  # type: ignore[method-assign]

    await say(b, queue, "7")
    await repair.step(b.engine)
    town.clock.advance_ms(round(LINGER_S * 1_000))
    await town.beat("b", "a")
    assert await a.bodies(queue) == ["7"]


async def test_what_one_data_centre_alone_may_have_is_acknowledged_when_all_have_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    town, a, b, queue = await two_nodes("orders.fifo")
    monkeypatch.setattr(MemoryStore, "reads_confirm", False)
    town.store.fail("append", OutcomeUnknown("dc2 did not answer"), times=2, is_done=True)

    for node in (a, b):
        with pytest.raises(OutcomeUnknown):
            await say(node, queue, "7")
    await say(b, queue, "7")
    await say(b, queue, "8")
    for node in (a, b):
        await repair.step(node.engine)
    await town.beat("a", "b")

    assert await b.bodies(queue) == ["7", "8"]


async def test_what_was_deleted_meanwhile_is_not_stored_again_by_a_repeat(monkeypatch: pytest.MonkeyPatch) -> None:
    town, a, b, queue = await two_nodes("orders.fifo")
    monkeypatch.setattr(MemoryStore, "reads_confirm", False)
    await say(a, queue, "7")
    await town.beat("a", "b")
    (seventh,) = await receive(b.engine, queue, ReceiveRequest(), lambda: True)
    await delete(b.engine, queue, seventh.handle)
    town.store.fail("append", AssertionError("there is nothing to store"))

    await say(a, queue, "7")

    assert await b.bodies(queue) == []


async def test_a_cut_off_nodes_mark_ends_when_another_node_has_put_what_it_sent() -> None:
    town, a, b, queue = await two_nodes("orders.fifo")
    cut = Cut(town, "a")
    cut.cut(is_known=False)
    sending = asyncio.create_task(say(a, queue, "7"))
    await until(lambda: bool(town.shared.marks))
    town.lost["a"].append(PLACE)
    await town.beat("a", "b")
    assert await b.bodies(queue) == []

    town.clock.advance_ms(1_000)
    await town.beat("a", "b", "a", "b")
    await sending

    assert await b.bodies(queue) == ["7"]
    assert town.shared.marks == {}


@pytest.mark.parametrize("sender", ["a", "b"])
async def test_a_repeat_while_the_queue_is_filled_gives_nobody_what_somebody_holds(sender: str) -> None:
    town, a, b, queue = await two_nodes("orders.fifo")
    await say(a, queue, "7")
    await town.beat("a", "b")
    assert await a.bodies(queue) == ["7"]
    await town.cache.drop(shard_of(queue))
    scan = town.store.scan

    async def repeated_first(queue: Queue) -> AsyncIterator[list[Stored]]:
        await say(town.nodes[sender], queue, "7")
        async for page in scan(queue):
            yield page

    town.store.scan = repeated_first  # type: ignore[method-assign]
    await residency.fill(b.engine, queue)
    await town.beat("a", "b")

    assert await b.bodies(queue) == []
    town.clock.advance_ms(queue.settings.visibility_ms)
    await town.beat("a", "b")
    await revisibility.step(b.engine)
    (again,) = await b.receive(queue)
    assert again.received.receive_count == 2


async def test_what_is_sent_with_an_old_delay_is_not_overtaken_for_longer_than_a_beat() -> None:
    town, a, b, queue = await two_nodes("orders.fifo")
    queue = await queues.change_settings(a.engine, queue, {"delay_ms": 900_000})
    await town.beat("a", "b")
    changed = await queues.change_settings(a.engine, queue, {"delay_ms": 0})
    await say(b, queue, "7")
    await town.beat("b")
    await say(b, changed, "8")

    assert await b.bodies(changed) == ["7", "8"]
