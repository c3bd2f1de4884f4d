"""A lease that may or may not have been written: the receive fails, and must not hide its messages from others."""

from __future__ import annotations

import pytest

from cqs.errors import OutcomeUnknown
from cqs.service.delete import delete, erase
from cqs.service.deliver import Delivery
from cqs.service.engine import shard_of
from cqs.service.receive import ReceiveRequest, receive
from cqs.service.visibility import change
from cqs.store.interface import LEASE_SOON_MS
from tests.cluster import two_nodes
from tests.engine import make_bench

HOUR_MS = 3_600_000
UNKNOWN = OutcomeUnknown("no answer in time")


@pytest.mark.parametrize("is_done", [True, False])
async def test_a_fifo_group_is_not_blocked_by_a_receive_that_failed(is_done: bool) -> None:
    bench = await make_bench()
    queue = await bench.create("orders.fifo", visibility_ms=HOUR_MS)
    await bench.send(queue, "one", "two")
    bench.store.fail("lease", UNKNOWN, is_done=is_done)

    with pytest.raises(OutcomeUnknown):
        await bench.receive(queue)
    received = await bench.receive(queue)

    assert [one.message.body for one in received] == ["one", "two"]
    assert [one.received.receive_count for one in received] == [1, 1]


async def test_a_receive_that_fails_keeps_what_its_repetition_has_been_given() -> None:
    bench = await make_bench()
    queue = await bench.create("orders.fifo", visibility_ms=HOUR_MS)
    await bench.send(queue, "one", "two")
    request = ReceiveRequest(1, wait_ms=0, attempt_id="attempt")
    lease, repeated = bench.store.lease, list[Delivery]()

    async def fails_late(*_: object) -> None:
        bench.store.lease = lease  # type: ignore[method-assign]
        repeated.extend(await receive(bench.engine, queue, request, lambda: True))
        raise UNKNOWN

    bench.store.lease = fails_late  # type: ignore[method-assign, assignment]
    with pytest.raises(OutcomeUnknown):
        await receive(bench.engine, queue, request, lambda: True)

    assert [one.message.body for one in repeated] == ["one"]
    assert await bench.receive(queue) == []
    await delete(bench.engine, queue, repeated[0].handle)
    assert await bench.bodies(queue) == ["two"]


@pytest.mark.parametrize("is_done", [True, False])
async def test_what_a_failed_receive_took_from_the_store_others_receive(is_done: bool) -> None:
    town, a, b, queue = await two_nodes()
    await a.send(queue, "one")
    await town.lose_cache(queue)
    town.store.fail("lease", UNKNOWN, is_done=is_done)

    with pytest.raises(OutcomeUnknown):
        await a.receive(queue, visibility_ms=HOUR_MS)
    town.clock.advance_ms(LEASE_SOON_MS)

    assert await b.bodies(queue) == ["one"]


@pytest.mark.parametrize("is_done", [True, False])
async def test_sends_and_deletes_of_an_unknown_outcome_are_told(is_done: bool) -> None:
    """Otherwise an audit reports a successful one as unexpected or lost."""
    bench = await make_bench()
    queue = await bench.create("orders")
    await bench.send(queue, "one")
    (one,) = await bench.receive(queue)
    bench.store.fail("append", UNKNOWN, is_done=is_done)
    bench.store.fail("delete", UNKNOWN, is_done=is_done)

    with pytest.raises(OutcomeUnknown):
        await bench.send(queue, "two")
    with pytest.raises(OutcomeUnknown):
        await erase(bench.engine, queue, [one.message.address])

    (sent, deleted) = bench.witness.of("doubtful")
    assert len(sent[1]) == 1
    assert deleted[1] == (one.message.address,)
    assert len(bench.witness.of("sent")) == 1
    assert bench.witness.of("deleted") == []


async def test_a_released_message_keeps_the_lease_of_whoever_takes_it_next() -> None:
    bench = await make_bench()
    queue = await bench.create("orders", visibility_ms=HOUR_MS)
    await bench.send(queue, "one")
    (first,) = await bench.receive(queue)
    lookup = bench.cache.lookup

    async def somebody_is_faster(*arguments: object) -> object:
        bench.cache.lookup = lookup  # type: ignore[method-assign]
        assert await bench.bodies(queue) == ["one"]
        return await lookup(*arguments)  # type: ignore[arg-type]

    bench.cache.lookup = somebody_is_faster  # type: ignore[method-assign, assignment]
    await change(bench.engine, queue, first.handle, 0)
    await bench.cache.drop(shard_of(queue))

    assert await bench.bodies(queue) == []
