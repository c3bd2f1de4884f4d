"""Receives from the store concurrent with other receives, deletes and fills."""

from __future__ import annotations

import asyncio
import dataclasses
import random
from collections.abc import Sequence

import pytest

from cqs.cache.entry import Entry
from cqs.cache.interface import Shard
from cqs.errors import OutcomeUnknown, StoreUnavailable
from cqs.queue import Queue
from cqs.service import delete, repair, residency, revisibility
from cqs.service.engine import shard_of
from cqs.service.handed import Handed
from cqs.service.receive import ReceiveRequest, receive
from cqs.store.interface import Lease
from tests.engine import Bench, make_bench
from tests.unit.dead_letters import one_pair


async def filling() -> tuple[Bench, Queue, Entry, int]:
    """A queue whose only message, "one", is no more in the cache, where a fill has begun; and the fill's epoch."""
    bench = await make_bench()
    queue = await bench.create("orders")
    await bench.send(queue, "one")
    (stored,) = [stored async for page in bench.store.scan(queue) for stored in page]
    await bench.cache.drop(shard_of(queue))
    epoch = await bench.cache.begin_fill(shard_of(queue), queue.settings.retention_ms)
    assert epoch is not None
    return bench, queue, Entry(address=stored.address, sent_ms=stored.sent_ms), epoch


async def half_filled() -> tuple[Bench, Queue, int]:
    """The same, when the fill has put the message into the cache already, and goes on."""
    bench, queue, entry, epoch = await filling()
    await bench.cache.fill(shard_of(queue), epoch, [entry], is_last=False)
    return bench, queue, epoch


async def test_two_receives_at_the_same_moment_get_different_messages() -> None:
    bench = await make_bench()
    queue = await bench.create("orders")
    bench.store.slow("occupied", "head", "leases", "read", "lease")
    bench.cache.cut()
    await bench.send(queue, *"abcdef")

    first, second = await asyncio.gather(bench.receive(queue, 3), bench.receive(queue, 3))

    assert sorted(one.message.body for one in (*first, *second)) == [*"abcdef"]


async def test_message_deleted_while_the_store_is_read_is_not_handed_out() -> None:
    bench = await make_bench()
    queue = await bench.create("orders")
    await bench.send(queue, "one", "two")
    held = (await bench.receive(queue, 1))[0]
    bench.cache.cut()
    read_leases = bench.store.leases

    async def leases(queue: Queue, addresses: Sequence[int]) -> list[Lease | None]:
        await delete.delete(bench.engine, queue, held.handle)
        return await read_leases(queue, addresses)

    bench.store.leases = leases  # type: ignore[method-assign]

    assert {one.message.body for one in await bench.receive(queue)} == {"one", "two"} - {held.message.body}


async def test_receive_that_fails_hides_nothing() -> None:
    bench = await make_bench()
    queue = await bench.create("orders")
    await bench.send(queue, "one")
    bench.cache.cut()
    bench.store.fail("lease", StoreUnavailable("disk full"))

    with pytest.raises(StoreUnavailable):
        await bench.receive(queue)

    assert await bench.bodies(queue) == ["one"]


async def test_message_already_in_a_shard_that_is_being_filled_is_left_to_its_takers() -> None:
    bench, queue, epoch = await half_filled()
    shard = shard_of(queue)

    while_filling = await bench.bodies(queue)
    await bench.cache.fill(shard, epoch, [], is_last=True)

    assert (while_filling, await bench.bodies(queue)) == ([], ["one"])


async def test_message_left_to_takers_is_not_hidden_by_the_store_when_the_shard_is_filled_anew() -> None:
    bench, queue, _ = await half_filled()
    shard = shard_of(queue)
    assert await bench.bodies(queue) == []

    await bench.cache.drop(shard)
    (filled,) = [stored async for page in bench.store.scan(queue) for stored in page]

    assert filled.lease is not None and filled.lease.hidden_until_ms <= bench.clock.now_ms()
    assert await bench.bodies(queue) == ["one"]


async def test_whoever_takes_a_message_that_was_left_to_takers_has_a_newer_lease_than_who_left_it() -> None:
    bench, queue, epoch = await half_filled()
    shard = shard_of(queue)
    assert await bench.bodies(queue) == []
    await bench.cache.fill(shard, epoch, [], is_last=True)
    assert await bench.bodies(queue) == ["one"]

    await bench.cache.drop(shard)
    await residency.fill(bench.engine, queue)

    assert await bench.bodies(queue) == []


async def test_message_handed_out_from_the_store_is_hidden_from_a_page_read_before() -> None:
    bench = await make_bench()
    queue = await bench.create("orders", visibility_ms=5_000)
    await bench.send(queue, "one")
    (stored,) = [stored async for page in bench.store.scan(queue) for stored in page]
    shard = shard_of(queue)
    await bench.cache.drop(shard)
    epoch = await bench.cache.begin_fill(shard, queue.settings.retention_ms)
    assert epoch is not None

    assert await bench.bodies(queue) == ["one"]
    await bench.cache.fill(shard, epoch, [Entry(address=stored.address, sent_ms=stored.sent_ms)], is_last=True)

    assert await bench.bodies(queue) == []
    bench.clock.advance_ms(5_000)
    await revisibility.step(bench.engine)
    assert await bench.bodies(queue) == ["one"]


async def test_two_nodes_share_a_queue_while_it_is_filled() -> None:
    bench = await make_bench()
    queue = await bench.create("orders")
    await bench.send(queue, *"abcdef")
    await bench.cache.drop(shard_of(queue))
    await bench.cache.begin_fill(shard_of(queue), queue.settings.retention_ms)
    other = dataclasses.replace(bench.engine, fallback=Handed(), rng=random.Random(2))
    bench.store.slow("occupied", "head", "leases", "read", "lease")
    request = ReceiveRequest(6, wait_ms=0)

    first, second = await asyncio.gather(
        receive(bench.engine, queue, request, lambda: True), receive(other, queue, request, lambda: True)
    )

    assert sorted(one.message.body for one in (*first, *second)) == [*"abcdef"]


@pytest.mark.parametrize("name", ["orders", "orders.fifo"])
@pytest.mark.parametrize("is_stored", [True, False])
async def test_send_of_unknown_outcome_is_looked_up_in_the_store(name: str, is_stored: bool) -> None:
    bench = await make_bench()
    queue = await bench.create(name)
    bench.store.fail("append", OutcomeUnknown("timed out"), is_done=is_stored)
    if name.endswith(".fifo") and is_stored:
        await bench.send(queue, "one")
    else:
        with pytest.raises(OutcomeUnknown):
            await bench.send(queue, "one")

    await repair.step(bench.engine)

    assert await bench.bodies(queue) == ["one"] * is_stored
    assert not len(bench.engine.dirt)


@pytest.mark.parametrize("is_deleted", [False, True])
async def test_shard_dropped_while_leases_are_entered_takes_no_message_with_it(is_deleted: bool) -> None:
    bench, queue, entry, _ = await filling()
    look_up = bench.cache.lookup

    async def lookup(shard: Shard, addresses: Sequence[int]) -> list[Entry | None]:
        await bench.cache.drop(shard)
        if is_deleted:
            await bench.store.delete(queue, addresses)
        return await look_up(shard, addresses)

    bench.cache.lookup = lookup  # type: ignore[method-assign]

    assert [one.message.address for one in await bench.receive(queue)] == [entry.address] * (not is_deleted)


async def test_what_was_received_too_often_waits_for_the_cache_to_become_a_dead_letter() -> None:
    bench = await make_bench()
    orders, dead = await one_pair(bench)
    bench.cache.cut()
    await bench.send(orders, "one")
    given = [await bench.bodies(orders)]
    bench.clock.advance_ms(orders.settings.visibility_ms)
    given.append(await bench.bodies(orders))

    bench.cache.mend()
    await repair.step(bench.engine)
    given += [await bench.bodies(orders), await bench.bodies(dead)]

    assert given == [["one"], [], [], ["one"]]
