"""A node puts messages read from the store into the cache too late: the message was deleted or received meanwhile, or
its queue changed."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from cqs.cache.entry import Entry
from cqs.cache.interface import Residency, Shard
from cqs.errors import CacheUnavailable
from cqs.message import Message
from cqs.queue import Queue
from cqs.service import delete, queues, repair
from cqs.service.engine import shard_of
from cqs.service.receive import ReceiveRequest, receive
from tests.cluster import two_nodes
from tests.engine import Bench, make_bench

SECOND_MS = 1_000


async def fill_empty(bench: Bench, queue: Queue) -> None:
    """Fills the shard now, while the store is empty."""
    epoch = await bench.cache.begin_fill(shard_of(queue), queue.settings.retention_ms)
    assert epoch is not None
    await bench.cache.fill(shard_of(queue), epoch, [], is_last=True)


async def end_all(bench: Bench, queue: Queue) -> None:
    """Makes all messages in flight visible again."""
    bench.clock.advance_ms(60 * SECOND_MS)
    await bench.cache.reveal(shard_of(queue), queue.settings.retention_ms, 100)


async def test_message_received_and_deleted_before_its_put_stays_away() -> None:
    bench = await make_bench()
    queue = await bench.create("orders")
    await bench.cache.drop(shard_of(queue))
    put = bench.cache.put
    received: list[str] = []

    async def late(shard: Shard, entries: Sequence[Entry], epoch: int | None = None) -> Residency:
        bench.cache.put = put  # type: ignore[method-assign]
        for one in await receive(bench.engine, queue, ReceiveRequest(10, wait_ms=0), lambda: True):
            received.append(one.message.body)
            await bench.cache.drop(shard)
            await delete.delete(bench.engine, queue, one.handle)
        await fill_empty(bench, queue)
        return await put(shard, entries, epoch)

    bench.cache.put = late  # type: ignore[method-assign]
    await bench.send(queue, "one")
    await bench.engine.background.drain()
    await end_all(bench, queue)

    assert received == ["one"]
    assert await bench.bodies(queue) == []


async def test_message_sent_while_its_shard_is_filled_anew_is_put_all_the_same() -> None:
    bench = await make_bench()
    queue = await bench.create("orders")
    append = bench.store.append

    async def refilled(queue: Queue, messages: Sequence[Message]) -> None:
        await bench.cache.drop(shard_of(queue))
        await fill_empty(bench, queue)
        await append(queue, messages)

    bench.store.append = refilled  # type: ignore[method-assign]
    await bench.send(queue, "one")

    assert await bench.bodies(queue) == ["one"]


async def test_message_handed_out_from_the_store_and_deleted_by_an_older_handle_stays_away() -> None:
    bench = await make_bench()
    queue = await bench.create("orders", visibility_ms=SECOND_MS)
    await bench.send(queue, "one")
    (older,) = await bench.receive(queue)
    bench.clock.advance_ms(SECOND_MS)
    await bench.cache.drop(shard_of(queue))
    lease = bench.store.lease

    async def slow(queue: Queue, leases: Sequence[object]) -> None:
        await lease(queue, leases)  # type: ignore[arg-type]
        await bench.cache.drop(shard_of(queue))
        await delete.delete(bench.engine, queue, older.handle)
        await fill_empty(bench, queue)

    bench.store.lease = slow  # type: ignore[method-assign]
    given = await bench.bodies(queue)
    await end_all(bench, queue)

    assert (given, await bench.bodies(queue)) == ([], [])


async def test_repair_that_read_a_message_before_its_delete_does_not_put_it_into_a_newer_shard() -> None:
    bench = await make_bench()
    queue = await bench.create("orders", visibility_ms=SECOND_MS)
    bench.cache.fail("put", CacheUnavailable("lost"))
    await bench.send(queue, "one")
    (one,) = await bench.receive(queue)
    await bench.cache.drop(shard_of(queue))
    await fill_empty(bench, queue)
    read = bench.store.read

    async def slow(queue: Queue, addresses: Sequence[int]) -> list[Message]:
        found = await read(queue, addresses)
        await bench.cache.drop(shard_of(queue))
        await delete.delete(bench.engine, queue, one.handle)
        await fill_empty(bench, queue)
        return found

    bench.store.read = slow  # type: ignore[method-assign]
    await repair.step(bench.engine)
    bench.store.read = read  # type: ignore[method-assign]
    await end_all(bench, queue)

    assert await bench.bodies(queue) == []


@pytest.mark.parametrize("call", ["put", "lookup"])
async def test_message_that_becomes_dirty_again_while_it_is_repaired_is_repaired_again(call: str) -> None:
    bench = await make_bench()
    queue = await bench.create("orders", visibility_ms=SECOND_MS)
    bench.cache.fail("put", CacheUnavailable("lost"))
    await bench.send(queue, "one")
    (one,) = await bench.receive(queue)
    done = getattr(bench.cache, call)

    async def then_deleted(*arguments: object) -> object:
        answer = await done(*arguments)
        bench.cache.fail("remove", CacheUnavailable("lost"))
        await delete.delete(bench.engine, queue, one.handle)
        return answer

    setattr(bench.cache, call, then_deleted)
    await repair.step(bench.engine)
    setattr(bench.cache, call, done)
    await repair.step(bench.engine)
    await end_all(bench, queue)

    assert not len(bench.engine.dirt)
    assert await bench.bodies(queue) == []


async def test_what_becomes_dirty_while_an_absent_shard_is_looked_at_stays_dirty() -> None:
    bench = await make_bench()
    queue = await bench.create("orders")
    shard = shard_of(queue)
    bench.engine.dirt.note(shard, [1])
    await bench.cache.drop(shard)
    state = bench.cache.state

    async def then_dirty(shard: Shard) -> object:
        answer = await state(shard)
        bench.engine.dirt.note(shard, [2])
        return answer

    bench.cache.state = then_dirty  # type: ignore[method-assign, assignment]
    await repair.step(bench.engine)
    assert bench.engine.dirt.is_on(shard)

    bench.cache.state = state  # type: ignore[method-assign]
    await repair.step(bench.engine)
    assert not len(bench.engine.dirt)


async def test_message_that_another_node_hands_out_before_its_put_is_put_with_its_lease() -> None:
    town, a, b, queue = await two_nodes("orders")
    await town.beat()
    put = town.cache.put
    received: list[str] = []

    async def late(shard: Shard, entries: Sequence[Entry], epoch: int | None = None) -> Residency:
        town.cache.put = put  # type: ignore[method-assign]
        await town.cache.drop(shard)
        received.extend(await b.bodies(queue))
        await town.cache.drop(shard)
        await fill_empty(a, queue)
        return await put(shard, entries, epoch)

    town.cache.put = late  # type: ignore[method-assign]
    await a.send(queue, "one")

    assert (received, await a.bodies(queue)) == (["one"], [])
    await end_all(a, queue)
    await town.beat()
    assert [one.received.receive_count for one in await a.receive(queue)] == [2]


async def test_what_repair_puts_was_received_as_often_as_the_store_says() -> None:
    bench = await make_bench()
    queue = await bench.create("orders", visibility_ms=SECOND_MS)
    await bench.send(queue, "one")
    (one,) = await bench.receive(queue)
    await bench.engine.background.drain()
    await bench.cache.drop(shard_of(queue))
    await fill_empty(bench, queue)
    bench.clock.advance_ms(SECOND_MS)
    bench.engine.dirt.note(shard_of(queue), [one.message.address])

    await repair.step(bench.engine)

    assert [again.received.receive_count for again in await bench.receive(queue)] == [2]


async def test_a_fifo_queues_present_delay_rules_what_is_put_later() -> None:
    bench = await make_bench()
    queue = await bench.create("orders.fifo", delay_ms=SECOND_MS)
    bench.cache.fail("put", CacheUnavailable("lost"))
    await bench.send(queue, "one")
    queue = await queues.change_settings(bench.engine, queue, {"delay_ms": 0})

    await repair.step(bench.engine)
    await bench.send(queue, "two")

    assert await bench.bodies(queue) == ["one", "two"]


async def test_a_fifo_queues_present_delay_rules_what_is_sent_while_it_is_changed() -> None:
    bench = await make_bench()
    queue = await bench.create("orders.fifo", delay_ms=SECOND_MS)
    append = bench.store.append

    async def then_changed(queue: Queue, messages: Sequence[Message]) -> None:
        await append(queue, messages)
        bench.store.append = append  # type: ignore[method-assign]
        await queues.change_settings(bench.engine, queue, {"delay_ms": 0})

    bench.store.append = then_changed  # type: ignore[method-assign]
    for body in ("one", "two"):
        await bench.send(bench.engine.registry.find(queue.key), body)

    assert await bench.bodies(queue) == ["one", "two"]
