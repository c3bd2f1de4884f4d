"""Changing, purging and deleting queues, with concurrent calls."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from cqs.cache.interface import Residency
from cqs.errors import (
    InvalidAttributeName,
    InvalidAttributeValue,
    InvalidParameterValue,
    OutcomeUnknown,
    QueueDoesNotExist,
    StoreUnavailable,
)
from cqs.queue import DedupScope, Redrive, ThroughputLimit
from cqs.service import queues, tags
from cqs.service.engine import shard_of
from cqs.service.send import Draft, send
from tests.engine import make_bench


async def test_change_is_durable_and_dated() -> None:
    bench = await make_bench()
    queue = await bench.create("orders")
    bench.clock.advance_ms(7)

    changed = await queues.change_settings(bench.engine, queue, {"delay_ms": 3_000})

    assert changed.version == queue.version + 1
    assert changed.modified_ms == queue.modified_ms + 7
    assert changed.created_ms == queue.created_ms
    assert bench.engine.registry.find(queue.key) == changed
    assert await bench.store.find(queue.key) == changed


async def test_change_to_the_same_value_writes_nothing() -> None:
    bench = await make_bench()
    queue = await bench.create("orders", delay_ms=3_000)

    assert await queues.change_settings(bench.engine, queue, {"delay_ms": 3_000}) == queue


async def test_changes_at_once_are_all_kept() -> None:
    bench = await make_bench()
    queue = await bench.create("orders")
    bench.slow()

    await asyncio.gather(
        queues.change_settings(bench.engine, queue, {"delay_ms": 3_000}),
        queues.change_settings(bench.engine, queue, {"visibility_ms": 9_000}),
        tags.tag(bench.engine, queue, {"team": "shop"}),
    )

    settled = bench.engine.registry.find(queue.key)
    assert (settled.settings.delay_ms, settled.settings.visibility_ms) == (3_000, 9_000)
    assert settled.tags == {"team": "shop"}
    assert settled.version == 3


async def test_change_made_by_another_node_is_kept() -> None:
    bench = await make_bench()
    queue = await bench.create("orders")
    theirs = msgspec.structs.replace(queue, version=1, tags={"team": "shop"})
    assert await bench.store.save(theirs)

    changed = await queues.change_settings(bench.engine, queue, {"delay_ms": 3_000})

    assert (changed.version, changed.tags) == (2, {"team": "shop"})


async def test_change_of_a_deleted_queue_says_so() -> None:
    bench = await make_bench()
    queue = await bench.create("orders")
    await bench.store.drop(queue, bench.clock.now_ms())

    with pytest.raises(QueueDoesNotExist):
        await queues.change_settings(bench.engine, queue, {"delay_ms": 3_000})

    assert bench.engine.registry.get(queue.key) is None


async def test_namesake_of_a_deleted_queue_is_not_changed() -> None:
    bench = await make_bench()
    queue = await bench.create("orders")
    await queues.delete(bench.engine, queue)
    namesake = await bench.create("orders")

    with pytest.raises(QueueDoesNotExist):
        await queues.change_settings(bench.engine, queue, {"delay_ms": 3_000})

    assert bench.engine.registry.find(queue.key) == namesake


async def test_change_that_the_store_refused_is_not_in_force() -> None:
    bench = await make_bench()
    queue = await bench.create("orders")
    bench.store.fail("save", StoreUnavailable("disk full"))

    with pytest.raises(StoreUnavailable):
        await queues.change_settings(bench.engine, queue, {"delay_ms": 3_000})

    assert bench.engine.registry.find(queue.key) == queue


async def test_change_with_a_lost_answer_is_in_force_when_the_store_has_it() -> None:
    bench = await make_bench()
    queue = await bench.create("orders")
    bench.store.fail("save", OutcomeUnknown("lost answer"), is_done=True)

    changed = await queues.change_settings(bench.engine, queue, {"delay_ms": 3_000})

    assert bench.engine.registry.find(queue.key) == changed


async def test_unknown_outcome_shows_what_another_node_did_instead() -> None:
    bench = await make_bench()
    queue = await bench.create("orders")
    theirs = msgspec.structs.replace(queue, version=1, generation=1)
    await bench.store.save(theirs)
    bench.store.fail("save", OutcomeUnknown("lost answer"))

    with pytest.raises(OutcomeUnknown):
        await queues.change_settings(bench.engine, queue, {"delay_ms": 3_000})

    assert bench.engine.registry.find(queue.key) == theirs


async def test_type_of_a_queue_does_not_change() -> None:
    bench = await make_bench()
    standard, fifo = await bench.create("orders"), await bench.create("orders.fifo")

    with pytest.raises(InvalidAttributeName, match="Unknown Attribute FifoQueue"):
        await queues.change_settings(bench.engine, standard, {"is_fifo": True})
    with pytest.raises(InvalidAttributeValue, match="Modifying queue type is not supported"):
        await queues.change_settings(bench.engine, fifo, {"is_fifo": False})
    assert await queues.change_settings(bench.engine, fifo, {"is_fifo": True}) == fifo


async def test_rules_hold_for_old_and_new_settings_together() -> None:
    bench = await make_bench()
    fifo = await bench.create("a.fifo", dedup_scope=DedupScope.GROUP, throughput_limit=ThroughputLimit.GROUP)

    with pytest.raises(InvalidAttributeValue, match="the DeduplicationScope must be messageGroup"):
        await queues.change_settings(bench.engine, fifo, {"dedup_scope": DedupScope.QUEUE})


async def test_redrive_is_checked_when_set_and_goes_when_none() -> None:
    bench = await make_bench()
    dead, queue = await bench.create("dead"), await bench.create("orders")

    with pytest.raises(InvalidParameterValue, match=r"Dead letter target does not exist\."):
        await queues.change_settings(bench.engine, queue, {"redrive": Redrive(dead.arn + "x", 3)})
    await queues.change_settings(bench.engine, queue, {"redrive": Redrive(dead.arn, 3)})
    await queues.delete(bench.engine, dead)
    changed = await queues.change_settings(bench.engine, queue, {"delay_ms": 1_000})
    assert changed.settings.redrive is not None

    changed = await queues.change_settings(bench.engine, queue, {"redrive": None})
    assert changed.settings.redrive is None


async def test_encryption_changes_its_kind() -> None:
    bench = await make_bench()
    queue = await bench.create("orders", kms_key_id="alias/mine")

    managed = await queues.change_settings(bench.engine, queue, {"is_sse_managed": True})

    assert (managed.settings.kms_key_id, managed.settings.is_sse_managed) == ("", True)


async def test_changed_delay_rules_waiting_messages_of_a_fifo_queue_only() -> None:
    bench = await make_bench()
    fifo, standard = await bench.create("a.fifo", delay_ms=60_000), await bench.create("a", delay_ms=60_000)
    for queue in (fifo, standard):
        await bench.send(queue, "one")
        await queues.change_settings(bench.engine, queue, {"delay_ms": 5_000})

    bench.clock.advance_ms(5_000)
    for queue in (fifo, standard):
        await bench.cache.reveal(shard_of(queue), queue.settings.retention_ms, 10)

    assert (await bench.counts(fifo)).ready == 1
    assert (await bench.counts(standard)).delayed == 1


async def test_purge_leaves_nothing_and_works_on() -> None:
    bench = await make_bench()
    queue = await bench.create("orders", delay_ms=1_000)
    await bench.send(queue, "delayed")
    queue = await queues.change_settings(bench.engine, queue, {"delay_ms": 0})
    await bench.send(queue, "in flight", "ready")
    assert len(await bench.receive(queue, 1)) == 1

    await queues.purge(bench.engine, queue)
    purged = bench.engine.registry.find(queue.key)
    counts = await bench.counts(purged)

    assert (counts.ready, counts.in_flight, counts.delayed) == (0, 0, 0)
    assert await bench.stored(purged) == []
    assert (await bench.cache.state(shard_of(queue))).residency is Residency.ABSENT
    assert bench.witness.names().count("purged") == 1
    await bench.send(purged, "later")
    assert await bench.bodies(purged) == ["later"]


async def test_purged_messages_do_not_return_after_a_restart() -> None:
    bench = await make_bench()
    queue = await bench.create("orders")
    await bench.send(queue, "before")
    await queues.purge(bench.engine, queue)
    await bench.send(bench.engine.registry.find(queue.key), "after")

    bench = await bench.restart()

    assert await bench.bodies(bench.engine.registry.find(queue.key)) == ["after"]


async def test_send_beside_a_purge_is_kept_or_purged_and_later_ones_are_kept() -> None:
    bench = await make_bench()
    queue = await bench.create("orders")
    bench.slow()

    await asyncio.gather(
        send(bench.engine, queue, Draft("beside"), "s"),
        queues.purge(bench.engine, queue),
        send(bench.engine, queue, Draft("beside"), "s"),
    )
    purged = bench.engine.registry.find(queue.key)
    await send(bench.engine, purged, Draft("later"), "s")
    await send(bench.engine, queue, Draft("began before the purge"), "s")

    assert await bench.bodies(purged) == ["later"]
    assert (await bench.cache.state(shard_of(queue))).residency is Residency.ABSENT
