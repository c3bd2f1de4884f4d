"""FIFO messages of unknown outcome: what the store rules out is not handed out and not acknowledged."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from cqs.errors import CacheUnavailable, OutcomeUnknown
from cqs.ids import text_of
from cqs.message import Message
from cqs.queue import Queue
from cqs.service import repair, residency
from cqs.service.engine import shard_of
from cqs.service.send import Draft, send
from tests.cluster import two_nodes, waits_for_marks
from tests.engine import Bench, make_bench


class Ruled:
    """Rules out these addresses, and remembers what it was asked."""

    def __init__(self, bench: Bench) -> None:
        self.asked: list[int] = []
        self.out: set[int] = set()
        object.__setattr__(bench.engine.cluster, "certain", self.certain)

    async def certain(self, _: Queue, addresses: Sequence[int]) -> set[int]:
        self.asked += addresses
        return set(addresses) - self.out


async def stored(bench: Bench, queue: Queue) -> list[int]:
    return [one.address async for page in bench.engine.store.scan(queue) for one in page]


async def say(bench: Bench, queue: Queue, body: str) -> str:
    return (await send(bench.engine, queue, Draft(body, group=body, dedup_id=body), "sender")).message_id


async def a_ruled_out_and_b() -> tuple[Bench, Queue, Ruled, list[int]]:
    """A FIFO queue with two messages, of which the first is ruled out, and their addresses."""
    bench = await make_bench()
    queue, ruled = await bench.create("orders.fifo", is_fifo=True), Ruled(bench)
    await say(bench, queue, "a")
    await say(bench, queue, "b")
    addresses = await stored(bench, queue)
    ruled.out = {addresses[0]}
    return bench, queue, ruled, addresses


async def test_a_fill_leaves_out_what_is_ruled_out() -> None:
    bench, queue, ruled, addresses = await a_ruled_out_and_b()

    await bench.cache.drop(shard_of(queue))
    await residency.fill(bench.engine, queue)

    assert await bench.bodies(queue) == ["b"]
    assert ruled.asked == addresses


async def test_a_repair_removes_what_is_ruled_out() -> None:
    bench, queue, _, addresses = await a_ruled_out_and_b()

    bench.engine.dirt.note(shard_of(queue), addresses)
    await repair.step(bench.engine)

    assert await bench.bodies(queue) == ["b"]


async def test_a_send_of_unknown_outcome_that_is_found_but_ruled_out_is_not_acknowledged() -> None:
    bench = await make_bench()
    queue = await bench.create("orders.fifo", is_fifo=True)
    bench.store.fail("append", OutcomeUnknown("cut off"), times=2, is_done=True)

    assert await say(bench, queue, "a") == text_of((await stored(bench, queue))[0])
    object.__setattr__(bench.engine.cluster, "certain", _none)
    with pytest.raises(OutcomeUnknown):
        await say(bench, queue, "b")


async def _none(_: Queue, __: Sequence[int]) -> set[int]:
    return set()


async def test_messages_of_a_standard_queue_are_not_asked_about() -> None:
    bench = await make_bench()
    queue, ruled = await bench.create("orders"), Ruled(bench)
    await bench.send(queue, "a")

    bench.engine.dirt.note(shard_of(queue), await stored(bench, queue))
    await repair.step(bench.engine)
    await bench.cache.drop(shard_of(queue))
    await residency.fill(bench.engine, queue)

    assert (await bench.bodies(queue), ruled.asked) == (["a"], [])


async def test_a_repeat_of_a_message_that_few_replicas_have_puts_it_where_it_is_handed_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    waits_for_marks(monkeypatch)
    town, a, b, queue = await two_nodes("orders.fifo")
    town.cache.fail("put", CacheUnavailable("lost"))
    await say(a, queue, "a")
    (address,) = await stored(a, queue)
    (message,) = await a.engine.store.read(queue, [address])
    asked = list[int]()
    assert await town.cache.lookup(shard_of(queue), [address]) == [None]

    async def not_found(*_: object) -> list[Message]:
        monkeypatch.undo()
        return []

    async def found(_: Queue, addresses: Sequence[int]) -> list[Message]:
        asked.extend(addresses)
        return [message]

    object.__setattr__(b.engine.cluster, "seek", found)
    monkeypatch.setattr(b.engine.store, "read", not_found)
    repeat = await say(b, queue, "a")

    assert (repeat, asked) == (text_of(address), [address])
    assert await town.cache.lookup(shard_of(queue), [address]) != [None]
