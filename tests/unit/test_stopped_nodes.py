"""A node is paused (SIGSTOP, a paused machine) between the store and the cache for longer than a shard remembers its
removals. Meanwhile another node's sweep finds the message, and it is received and deleted there."""

from __future__ import annotations

from collections.abc import Sequence

from cqs.cache.interface import TOMBSTONE_MS
from cqs.errors import CacheUnavailable
from cqs.message import Message
from cqs.queue import Queue
from cqs.service import repair
from cqs.service.delete import delete
from cqs.service.engine import shard_of
from cqs.service.entries import entry_of
from cqs.service.epochs import Epochs
from tests.engine import Bench, make_bench


class Stopped:
    """The node, and what happens to its messages while it is paused."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self._now_s = 0.0
        object.__setattr__(bench.engine, "epochs", Epochs(lambda: self._now_s))

    async def learn(self, queue: Queue) -> None:
        shard = shard_of(queue)
        self._bench.engine.epochs.note(shard, (await self._bench.cache.state(shard)).epoch)

    async def stop(self, queue: Queue, messages: Sequence[Message]) -> None:
        bench, shard = self._bench, shard_of(queue)
        await bench.cache.put(shard, [entry_of(bench.engine, queue, message) for message in messages])
        bench.engine.dirt.forget(shard, bench.engine.dirt.stand)
        for one in await bench.receive(queue):
            await delete(bench.engine, queue, one.handle)
        bench.clock.advance_ms(2 * TOMBSTONE_MS)
        self._now_s += 2 * TOMBSTONE_MS / 1_000


async def test_what_it_had_just_stored_is_not_put_when_it_wakes() -> None:
    bench = await make_bench()
    queue = await bench.create("orders")
    stopped = Stopped(bench)
    await stopped.learn(queue)
    append = bench.store.append

    async def then_stopped(queue: Queue, messages: Sequence[Message]) -> None:
        await append(queue, messages)
        await stopped.stop(queue, messages)

    bench.store.append = then_stopped  # type: ignore[method-assign]
    await bench.send(queue, "one")

    assert await bench.bodies(queue) == []
    assert (await bench.counts(queue)).in_flight == 0


async def test_what_it_had_read_to_repair_is_not_put_when_it_wakes() -> None:
    bench = await make_bench()
    queue = await bench.create("orders")
    stopped = Stopped(bench)
    bench.cache.fail("put", CacheUnavailable("lost"))
    await bench.send(queue, "one")
    addresses, read = bench.engine.dirt.some(shard_of(queue), 10), bench.store.read

    async def then_stopped(queue: Queue, addresses: Sequence[int]) -> list[Message]:
        bench.store.read = read  # type: ignore[method-assign]
        found = await read(queue, addresses)
        await stopped.stop(queue, found)
        return found

    bench.store.read = then_stopped  # type: ignore[method-assign]
    try:
        await repair.make_true(bench.engine, queue, addresses)
    except CacheUnavailable:
        await repair.make_true(bench.engine, queue, addresses)

    assert await bench.bodies(queue) == []
    assert (await bench.counts(queue)).in_flight == 0


async def test_a_node_that_was_not_stopped_asks_the_store_nothing() -> None:
    bench = await make_bench()
    queue = await bench.create("orders")
    stopped = Stopped(bench)
    await stopped.learn(queue)
    bench.store.fail("read", AssertionError("asked"))

    await bench.send(queue, "one")

    assert await bench.bodies(queue) == ["one"]
