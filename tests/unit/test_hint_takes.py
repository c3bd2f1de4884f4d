"""The consistency hint in use: several nodes receive from one store while the cache is unreachable."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from cqs.cluster import hint
from cqs.errors import InvalidParameterValue
from cqs.message import Message
from cqs.queue import Queue
from cqs.service import queues, tags
from cqs.service.deliver import Delivery
from cqs.service.engine import Tuning, shard_of
from cqs.service.oldest import Head, behind, merged, oldest
from cqs.store.interface import Lease
from cqs.testing.clock import ManualClock
from tests.cluster import Town
from tests.engine import Bench, FailingStore, make_bench

BODIES = [f"{number:03}" for number in range(200)]


class RowStore(FailingStore):
    """Keeps messages in rows, like Cassandra, and records how far each row was read."""

    limits: dict[int, list[int]]

    rows = 10

    async def occupied(self, queue: Queue, rows: Sequence[int]) -> list[int]:
        return list(range(self.rows))

    async def head(self, queue: Queue, row: int, limit: int) -> list[Message]:
        self.limits.setdefault(row, []).append(limit)
        every = await super().head(queue, 0, 100_000)
        return [one for at, one in enumerate(every) if self.row_of(at) == row][:limit]

    @staticmethod
    def row_of(at: int) -> int:
        """The oldest hundred messages are in one row, the others in all rows."""
        return 3 if at < 100 else at % 10


def in_rows() -> RowStore:
    store = RowStore(ManualClock())
    store.limits = {}
    return store


async def hinted(bench: Bench, value: str, *known_to: Bench) -> Queue:
    queue = await bench.create("orders")
    await tags.tag(bench.engine, queue, {hint.TAG: value})
    queue = bench.engine.registry.find(queue.key)
    for other in known_to:
        other.engine.registry.put(queue)
    return queue


async def nodes(town: Town, count: int) -> list[Bench]:
    """Nodes that know each other and have all lost the cache."""
    benches = [await town.node(f"node-{number}") for number in range(count)]
    for bench in benches:
        bench.engine.cluster.membership.open()
    await town.beat()
    await town.beat()
    return benches


def bodies(*answers: list[Delivery]) -> list[str]:
    return [one.message.body for answer in answers for one in answer]


async def test_one_is_strictly_the_oldest_over_all_rows() -> None:
    store = in_rows()
    bench = await make_bench(store=store)
    queue = await hinted(bench, "1")
    await bench.send(queue, *BODIES)
    bench.cache.cut()

    received = [bodies(await bench.receive(queue, 7)) for _ in range(25)]

    assert [body for answer in received for body in answer] == BODIES[:175]


async def test_only_the_row_that_holds_the_oldest_is_read_further() -> None:
    store = in_rows()
    bench = await make_bench(store=store)
    queue = await hinted(bench, "1")
    await bench.send(queue, *BODIES)

    found = await oldest(bench.engine, queue, range(10), 90)

    assert [message.body for message, _ in found][:90] == BODIES[:90]
    assert {row for row, limits in store.limits.items() if len(limits) > 1} == {3}


async def test_a_take_is_one_of_the_k_oldest() -> None:
    town = Town()
    (bench,) = await nodes(town, 1)
    queue = await hinted(bench, "16")
    await bench.send(queue, *BODIES)
    await town.lose_cache(queue)
    left, places = list(BODIES), []

    for _ in range(100):
        (body,) = bodies(await bench.receive(queue, 1))
        places.append(left.index(body))
        left.remove(body)

    assert max(places) < 16
    assert len(set(places)) > 8


async def test_auto_alone_is_one() -> None:
    town = Town()
    (bench,) = await nodes(town, 1)
    queue = await hinted(bench, "auto")
    await bench.send(queue, *BODIES)
    await town.lose_cache(queue)

    assert bodies(await bench.receive(queue), await bench.receive(queue)) == BODIES[:20]


async def test_the_cache_takes_the_oldest_whatever_the_hint() -> None:
    bench = await make_bench()
    queue = await hinted(bench, "1000")
    await bench.send(queue, *BODIES)

    assert bodies(await bench.receive(queue)) == BODIES[:10]


async def test_receives_of_one_node_do_not_leave_each_other_empty() -> None:
    town = Town()
    (bench,) = await nodes(town, 1)
    queue = await hinted(bench, "1")
    await bench.send(queue, *BODIES)
    await town.lose_cache(queue)
    town.store.slow("occupied", "head", "leases", "read", "lease")

    answers = await asyncio.gather(*[bench.receive(queue, 1) for _ in range(64)])

    assert sorted(bodies(*answers)) == BODIES[:64]


async def test_the_lower_number_lets_go_of_a_message_that_two_nodes_leased() -> None:
    town = Town()
    a, b = await nodes(town, 2)
    queue = await hinted(a, "1", b)
    await a.send(queue, "one")
    await town.lose_cache(queue)
    town.store.slow("leases", "lease")

    answers = await asyncio.gather(a.receive(queue), b.receive(queue))

    assert bodies(*answers) == ["one"]


async def test_a_message_that_another_node_received_and_deleted_meanwhile_is_not_handed_out() -> None:
    town = Town()
    a, b = await nodes(town, 2)
    queue = await hinted(a, "1", b)
    await a.send(queue, "one", "two")
    await town.lose_cache(queue)
    write = town.store.lease

    async def lease(queue: Queue, leases: Sequence[Lease]) -> None:
        await town.store.delete(queue, [leases[0].address])
        await write(queue, leases)

    town.store.lease = lease  # type: ignore[method-assign]

    assert bodies(await a.receive(queue)) == ["two"]


async def test_collisions_widen_auto_and_quiet_narrows_it() -> None:
    town = Town()
    a, b = await nodes(town, 2)
    queue = await hinted(a, "auto", b)
    await a.send(queue, *BODIES)
    await town.lose_cache(queue)
    town.store.slow("leases", "lease")
    hints, shard = (a.engine.hints, b.engine.hints), shard_of(queue)

    await asyncio.gather(*[node.receive(queue, 1) for node in (a, b) for _ in range(8)])
    now_ms = town.clock.now_ms()
    with hints[0].taking(shard, 8), hints[1].taking(shard, 8):
        wide = max(one.width(shard, hint.AUTO, 1, now_ms) for one in hints)
        narrow = [one.width(shard, hint.AUTO, 1, now_ms + 60_000) for one in hints]

    assert wide >= 2
    assert narrow == [1, 1]


@pytest.mark.parametrize("value", ["0", "1001", "automatic", ""])
async def test_bad_hint_is_refused_when_tagged_and_when_created(value: str) -> None:
    bench = await make_bench()
    queue = await bench.create("orders")

    with pytest.raises(InvalidParameterValue, match="1 to 1000, or auto"):
        await tags.tag(bench.engine, queue, {hint.TAG: value})
    with pytest.raises(InvalidParameterValue, match="1 to 1000, or auto"):
        await queues.create(bench.engine, queue.key, {}, {hint.TAG: value})


async def test_strict_mode_takes_any_value_and_heeds_none() -> None:
    bench = await make_bench(tuning=Tuning(is_hint_on=False))
    queue = await hinted(bench, "as you like")
    await tags.tag(bench.engine, queue, {hint.TAG: "1000"})
    await bench.send(queue, *BODIES)
    bench.cache.cut()

    assert bodies(await bench.receive(bench.engine.registry.find(queue.key))) == BODIES[:10]


async def test_queue_tagged_in_strict_mode_keeps_its_other_tags_changeable() -> None:
    strict = await make_bench(tuning=Tuning(is_hint_on=False))
    queue = await hinted(strict, "as you like")
    bench = await make_bench(store=strict.store, clock=strict.clock)

    await tags.tag(bench.engine, queue, {"team": "shop"})
    await bench.send(queue, "one")
    bench.cache.cut()

    assert bodies(await bench.receive(bench.engine.registry.find(queue.key))) == ["one"]


def test_row_read_as_far_as_rows_are_read_stops_no_other() -> None:
    stuck = Head(row=1, limit=1_000, free=[], end=None)

    assert merged([stuck]) == []
    assert behind([stuck], 10) == []
