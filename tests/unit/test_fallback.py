"""Serving from the store while the cache can't, and making the cache consistent again (fallback, dirty marks,
repair)."""

from __future__ import annotations

import pytest

from cqs.cache.interface import Residency
from cqs.errors import CacheUnavailable, InvalidParameterValue
from cqs.service import delete, repair, residency, visibility
from cqs.service.engine import Tuning, shard_of
from tests.engine import make_bench, until


async def test_messages_are_received_while_the_cache_is_cut_off() -> None:
    bench = await make_bench()
    queue = await bench.create("orders")
    await bench.send(queue, "one", "two")

    bench.cache.cut()
    await bench.send(queue, "three")

    assert sorted(await bench.bodies(queue)) == ["one", "three", "two"]
    assert bench.witness.of("received_from_store")


async def test_what_was_handed_out_from_the_store_is_hidden_until_its_own_time() -> None:
    bench = await make_bench()
    queue = await bench.create("orders", visibility_ms=5_000)
    bench.cache.cut()
    await bench.send(queue, "one")
    first = await bench.receive(queue)

    assert await bench.bodies(queue) == []
    bench.clock.advance_ms(5_000)
    again = await bench.receive(queue)

    assert [one.received.receive_count for one in (*first, *again)] == [1, 2]
    assert again[0].received.first_receive_ms == first[0].received.first_receive_ms
    assert again[0].received.receive_number > first[0].received.receive_number


async def test_a_message_in_flight_in_the_cache_is_not_handed_out_again_when_the_cache_goes() -> None:
    bench = await make_bench()
    queue = await bench.create("orders")
    await bench.send(queue, "one", "two")
    assert len(await bench.receive(queue, 1)) == 1

    bench.cache.cut()

    assert len(await bench.receive(queue)) == 1


async def test_delayed_and_expired_messages_do_not_come_from_the_store() -> None:
    bench = await make_bench()
    queue = await bench.create("orders", delay_ms=1_000, retention_ms=60_000)
    bench.cache.cut()
    await bench.send(queue, "one")

    assert await bench.bodies(queue) == []
    bench.clock.advance_ms(1_000)
    assert await bench.bodies(queue) == ["one"]
    bench.clock.advance_ms(60_000)
    assert await bench.bodies(queue) == []


async def test_a_fifo_queue_gives_nothing_while_its_order_can_not_be_kept() -> None:
    bench = await make_bench()
    queue = await bench.create("orders.fifo")
    await bench.send(queue, "one")
    bench.cache.cut()
    await bench.send(queue, "two")

    assert await bench.bodies(queue) == []

    bench.cache.mend()
    await repair.step(bench.engine)
    assert await bench.bodies(queue) == ["one", "two"]


async def test_what_was_sent_past_a_cut_off_cache_is_in_it_after_the_repair() -> None:
    bench = await make_bench()
    queue = await bench.create("orders")
    bench.cache.cut()
    await bench.send(queue, "one")
    bench.cache.mend()

    await repair.step(bench.engine)

    assert (await bench.cache.counts(shard_of(queue))).ready == 1
    assert not len(bench.engine.dirt)


async def test_what_was_deleted_past_a_cut_off_cache_never_returns() -> None:
    bench = await make_bench()
    queue = await bench.create("orders", visibility_ms=5_000)
    await bench.send(queue, "one")
    delivery = (await bench.receive(queue))[0]
    bench.cache.cut()
    await delete.delete(bench.engine, queue, delivery.handle)
    bench.cache.mend()
    bench.clock.advance_ms(5_000)

    before_repair = await bench.bodies(queue)
    await repair.step(bench.engine)

    assert before_repair == [] == await bench.bodies(queue)
    assert (await bench.counts(queue)).ready == 0


async def test_a_put_that_happened_though_its_answer_was_lost_is_not_a_duplicate() -> None:
    bench = await make_bench()
    queue = await bench.create("orders")
    bench.cache.fail("put", CacheUnavailable("no answer"), is_done=True)
    await bench.send(queue, "one")

    await repair.step(bench.engine)

    assert await bench.bodies(queue) == ["one"]
    assert await bench.bodies(queue) == []


async def test_a_cache_that_came_back_empty_is_filled_and_keeps_what_is_in_flight_hidden() -> None:
    bench = await make_bench()
    queue = await bench.create("orders", visibility_ms=5_000)
    await bench.send(queue, "one", "two")
    await bench.receive(queue, 1)
    await bench.cache.drop(shard_of(queue))

    assert len(await bench.receive(queue)) == 1
    await bench.engine.background.drain()

    assert (await bench.cache.state(shard_of(queue))).residency is Residency.READY
    counts = await bench.counts(queue)
    assert (counts.ready, counts.in_flight) == (0, 2)


async def test_a_send_to_an_absent_shard_starts_its_fill() -> None:
    bench = await make_bench()
    queue = await bench.create("orders")
    await bench.cache.drop(shard_of(queue))

    await bench.send(queue, "one")
    await bench.engine.background.drain()

    assert (await bench.cache.counts(shard_of(queue))).ready == 1


async def test_visibility_changes_hold_while_the_cache_is_cut_off() -> None:
    bench = await make_bench()
    queue = await bench.create("orders", visibility_ms=5_000)
    await bench.send(queue, "one")
    delivery = (await bench.receive(queue))[0]
    bench.cache.cut()

    await visibility.change(bench.engine, queue, delivery.handle, 60_000)
    bench.clock.advance_ms(30_000)
    assert await bench.bodies(queue) == []

    await visibility.change(bench.engine, queue, delivery.handle, 0)
    assert await bench.bodies(queue) == ["one"]


async def test_a_stale_handle_changes_nothing_while_the_cache_is_cut_off() -> None:
    bench = await make_bench()
    queue = await bench.create("orders", visibility_ms=5_000)
    bench.cache.cut()
    await bench.send(queue, "one")
    old = (await bench.receive(queue))[0]
    bench.clock.advance_ms(5_000)
    await bench.receive(queue)

    with pytest.raises(InvalidParameterValue):
        await visibility.change(bench.engine, queue, old.handle, 0)


async def test_a_living_fifo_lease_deletes_and_an_expired_one_does_not_while_the_cache_is_cut_off() -> None:
    bench = await make_bench()
    queue = await bench.create("orders.fifo", visibility_ms=5_000)
    await bench.send(queue, "one", "two")
    one, two = await bench.receive(queue)
    bench.cache.cut()

    await delete.delete(bench.engine, queue, one.handle)
    bench.clock.advance_ms(5_000)
    with pytest.raises(InvalidParameterValue, match="expired"):
        await delete.delete(bench.engine, queue, two.handle)

    assert [message.body for message in await bench.stored(queue)] == ["two"]


async def test_too_much_dirt_drops_the_shard_to_be_filled_anew() -> None:
    bench = await make_bench()
    queue = await bench.create("orders")
    await bench.send(queue, "one")
    bench.engine.dirt.note(shard_of(queue), range(100_001))

    await repair.step(bench.engine)

    assert (await bench.cache.state(shard_of(queue))).residency is Residency.ABSENT
    assert await bench.bodies(queue) == ["one"]


async def test_one_fill_runs_at_a_time() -> None:
    bench = await make_bench()
    queue = await bench.create("orders")
    await bench.cache.drop(shard_of(queue))
    bench.cache.slow("fill")

    for _ in range(5):
        residency.ensure(bench.engine, queue)
    await until(lambda: not bench.engine.background.is_busy)

    assert (await bench.cache.state(shard_of(queue))).residency is Residency.READY


async def test_without_leases_what_is_in_flight_comes_again_when_the_cache_is_lost() -> None:
    bench = await make_bench(tuning=Tuning(is_leases_on=False))
    queue = await bench.create("orders")
    await bench.send(queue, "one")
    await bench.receive(queue)

    bench = await bench.restart()
    (again,) = await bench.receive(queue)

    assert (again.message.body, again.received.receive_count) == ("one", 1)


async def test_without_leases_a_fifo_queue_keeps_them_all_the_same() -> None:
    bench = await make_bench(tuning=Tuning(is_leases_on=False))
    queue = await bench.create("orders.fifo")
    await bench.send(queue, "one")
    await bench.receive(queue)

    bench = await bench.restart()

    assert await bench.bodies(queue) == []
