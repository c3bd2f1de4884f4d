"""Changes of queues by one node take effect on all others."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from cqs.cache.interface import Residency
from cqs.errors import (
    OutcomeUnknown,
    QueueDoesNotExist,
    ServiceUnavailable,
    StoreUnavailable,
)
from cqs.queue import Queue, QueueName, Redrive
from cqs.service import lookup, news, queues, tags
from cqs.service.cluster import LOOKUPS_BURST
from cqs.service.engine import Engine, shard_of
from cqs.service.receive import ReceiveRequest, receive
from tests.cluster import Town, two_nodes
from tests.engine import ACCOUNT, make_bench, until

ORDERS = QueueName(ACCOUNT, "orders")


async def test_a_queue_works_through_another_node_at_once() -> None:
    town = Town()
    a, b = await town.node("a"), await town.node("b")
    await a.create("orders")

    found = await lookup.find(b.engine, ORDERS)
    await b.send(found, "one")

    assert await a.bodies(found) == ["one"]


async def test_looking_up_unknown_names_is_bounded_and_news_still_come() -> None:
    town = Town()
    a, b = await town.node("a"), await town.node("b")
    for number in range(LOOKUPS_BURST):
        with pytest.raises(QueueDoesNotExist):
            await lookup.find(b.engine, QueueName(ACCOUNT, f"none-{number}"))
    town.store.fail("find", StoreUnavailable("asked too often"))
    await a.create("orders")

    with pytest.raises(QueueDoesNotExist):
        await lookup.find(b.engine, ORDERS)
    with pytest.raises(StoreUnavailable):
        await town.beat("b")
    await town.beat("b")
    assert await lookup.find(b.engine, ORDERS)


async def test_a_node_that_is_alone_never_asks_the_store_for_a_name() -> None:
    bench = await make_bench()
    bench.store.fail("find", StoreUnavailable("asked"))

    with pytest.raises(QueueDoesNotExist):
        await lookup.find(bench.engine, ORDERS)


async def test_changes_tags_and_deletion_are_heard_at_the_next_beat() -> None:
    town = Town()
    a, b = await town.node("a"), await town.node("b")
    queue = await a.create("orders")
    await town.beat()

    changed = await queues.change_settings(a.engine, queue, {"visibility_ms": 5_000})
    await tags.tag(a.engine, changed, {"team": "blue"})
    await town.beat()

    known = b.engine.registry.find(ORDERS)
    assert (known.settings.visibility_ms, known.tags) == (5_000, {"team": "blue"})
    await queues.delete(a.engine, known)
    await town.beat()
    assert b.engine.registry.get(ORDERS) is None


async def test_what_a_node_knows_already_it_does_not_read_again() -> None:
    town = Town()
    a = await town.node("a")
    await a.create("orders")
    town.store.fail("find", StoreUnavailable("read again"))

    await town.beat()

    assert a.engine.registry.get(ORDERS) is not None


async def test_deletion_ends_the_long_polls_of_other_nodes() -> None:
    town = Town()
    a, b = await town.node("a"), await town.node("b")
    queue = await a.create("orders")
    await town.beat()
    poll = asyncio.create_task(receive(b.engine, queue, ReceiveRequest(wait_ms=20_000), lambda: True))
    await until(lambda: b.engine.waiters.count(queue.uid) == 1)

    await queues.delete(a.engine, queue)
    await town.beat()

    with pytest.raises(QueueDoesNotExist):
        await poll


async def test_a_send_to_what_another_node_purged_is_refused_and_works_when_repeated() -> None:
    town = Town()
    a, b = await town.node("a"), await town.node("b")
    queue = await a.create("orders")
    await town.beat()
    await queues.purge(a.engine, queue)

    with pytest.raises(ServiceUnavailable):
        await b.send(queue, "one")
    await b.send(b.engine.registry.find(ORDERS), "one")

    assert await a.bodies(a.engine.registry.find(ORDERS)) == ["one"]


async def test_a_send_to_what_another_node_purged_is_refused_too_while_this_node_begins_to_fill_it() -> None:
    town, a, b, queue = await two_nodes()
    await queues.purge(a.engine, queue)
    await town.cache.begin_fill(shard_of(queue), queue.settings.retention_ms)

    with pytest.raises(ServiceUnavailable):
        await b.send(queue, "lost")


async def test_a_receive_does_not_revive_the_shard_that_another_node_purged() -> None:
    town = Town()
    a, b = await town.node("a"), await town.node("b")
    queue = await a.create("orders")
    await town.beat()
    await queues.purge(a.engine, queue)

    await b.receive(queue)
    await b.engine.background.drain()

    assert (await town.cache.state(shard_of(queue))).residency is Residency.ABSENT
    assert b.engine.registry.find(ORDERS).generation == 1


@pytest.mark.parametrize("call", [queues.purge, queues.delete])
async def test_what_another_node_purged_or_deleted_is_not_received_though_the_store_still_has_it(
    call: Callable[[Engine, Queue], Awaitable[None]], monkeypatch: pytest.MonkeyPatch
) -> None:
    town = Town()
    a, b = await town.node("a"), await town.node("b")
    monkeypatch.setattr(town.store, "_forget", lambda _: None)
    queue = await a.create("orders")
    await town.beat()
    await a.send(queue, "one")

    await call(a.engine, queue)

    assert await b.receive(queue) == []


async def test_a_send_to_what_another_node_deleted_is_refused() -> None:
    town = Town()
    a, b = await town.node("a"), await town.node("b")
    queue = await a.create("orders")
    await town.beat()
    await queues.delete(a.engine, queue)

    with pytest.raises(QueueDoesNotExist):
        await b.send(queue, "one")


async def test_a_dead_letter_queue_of_another_node_is_known_at_once() -> None:
    town = Town()
    a, b = await town.node("a"), await town.node("b")
    dead = await a.create("dead")

    queue = await b.create("orders", redrive=Redrive(dead.arn, 3))

    assert queue.settings.redrive == Redrive(dead.arn, 3)


async def test_news_that_could_not_be_told_are_told_at_the_next_beat(monkeypatch: pytest.MonkeyPatch) -> None:
    town = Town()
    a, b = await town.node("a"), await town.node("b")
    with monkeypatch.context() as patch:

        async def away(_: object) -> None:
            raise StoreUnavailable("away")

        patch.setattr(a.engine.cluster.coordination, "announce", away)
        await a.create("orders")
    await town.beat("a", "b")

    assert b.engine.registry.get(ORDERS) is not None
    assert a.engine.cluster.unsaid == []


async def test_a_node_that_was_away_too_long_reads_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    town = Town()
    a, b = await town.node("a"), await town.node("b")
    gone = await a.create("gone")
    await town.beat()
    await queues.delete(a.engine, gone)
    await a.create("orders")

    await news.reload(b.engine)

    assert [queue.name for queue in b.engine.registry] == ["orders"]


async def test_create_does_not_answer_with_a_queue_that_another_node_has_just_deleted() -> None:
    town = Town()
    a, b = await town.node("a"), await town.node("b")
    await queues.delete(a.engine, await b.create("orders"))

    made = await b.create("orders")
    await town.beat()

    await a.send(made, "one")
    assert await b.bodies(b.engine.registry.find(ORDERS)) == ["one"]


@pytest.mark.parametrize(("call", "change"), [("save", queues.purge), ("drop", queues.delete)])
async def test_a_change_of_which_nothing_can_be_learnt_is_looked_at_by_all_nodes(
    call: str, change: Callable[[Engine, Queue], Awaitable[None]]
) -> None:
    town = Town()
    a, b = await town.node("a"), await town.node("b")
    queue = await a.create("orders")
    await town.beat()
    town.store.fail(call, OutcomeUnknown("lost answer"), is_done=True)
    town.store.fail("find", StoreUnavailable("away"))

    with pytest.raises(OutcomeUnknown):
        await change(a.engine, queue)
    await town.beat()

    assert a.engine.registry.get(ORDERS) == b.engine.registry.get(ORDERS) == await town.store.find(ORDERS)
