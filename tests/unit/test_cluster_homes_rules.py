"""Which data centre may do what with a queue: FIFO, marks that expire, restarts, unreadable homes."""

from __future__ import annotations

import pytest

from cqs.errors import ServiceUnavailable, StoreUnavailable
from cqs.service import queues
from cqs.service.delete import delete
from cqs.service.engine import shard_of
from cqs.service.homes import AWAY_MS, BELIEVED_MS, COVER_MS, HOLD_MS, RETURN_MS
from tests.cluster import Town
from tests.datacenters import SECOND_MS, move_to, pass_ms, two


async def test_only_the_home_of_a_fifo_queue_hands_out_and_takes_messages() -> None:
    town, a, b, queue = await two("orders.fifo")
    await a.send(queue, "one", "two")

    assert await b.bodies(queue) == []
    with pytest.raises(ServiceUnavailable):
        await b.send(queue, "three")
    (one,) = await a.receive(queue, 1)
    with pytest.raises(ServiceUnavailable):
        await delete(b.engine, queue, one.handle)
    await delete(a.engine, queue, one.handle)

    assert await move_to(town, b, queue) == ["two"]
    await b.send(queue, "three", "four")
    assert await b.bodies(queue) == ["three", "four"]
    with pytest.raises(ServiceUnavailable):
        await a.send(queue, "five")
    assert await a.bodies(queue) == []


async def test_a_node_that_was_frozen_is_home_to_no_fifo_queue_until_it_has_heard_what_it_missed() -> None:
    town, a, _, queue = await two("orders.fifo")
    standard = await a.create("orders")
    await a.send(queue, "one")

    town.clock.advance_ms(AWAY_MS)
    with pytest.raises(ServiceUnavailable):
        await a.send(queue, "waited in the socket")
    assert await a.bodies(queue) == []
    await a.send(standard, "two")
    assert await a.bodies(standard) == ["two"]
    await pass_ms(town, RETURN_MS - SECOND_MS)
    with pytest.raises(ServiceUnavailable):
        await a.send(queue, "heard, not settled")

    await pass_ms(town, 2 * SECOND_MS)
    await a.send(queue, "three")
    assert await a.bodies(queue) == ["one", "three"]


async def test_a_mark_that_is_over_lets_the_home_fill_anew() -> None:
    town, a, b, queue = await two()
    await a.send(queue, "one")
    (one,) = await a.receive(queue)
    await delete(b.engine, queue, one.handle)
    assert len(await a.engine.cluster.coordination.dirty_marks()) == 1
    town.clock.advance_ms(COVER_MS)
    await pass_ms(town, 2 * SECOND_MS)

    assert await a.engine.cluster.coordination.dirty_marks() == []
    assert await a.bodies(queue) == []
    await a.engine.background.drain()
    await a.send(queue, "two")
    assert await a.bodies(queue) == ["two"]


async def test_a_node_that_restarts_draws_no_home() -> None:
    town, a, _, queue = await two()
    await a.send(queue, "one")
    town.clock.advance_ms(HOLD_MS)
    again = await town.node("b", "dc2")

    homes = again.engine.cluster.homes
    assert homes is not None
    home = await homes.look(shard_of(queue))
    assert home is not None
    assert home.datacenter == "dc1"
    assert await a.bodies(queue) == ["one"]


async def test_a_home_that_can_t_be_read_costs_no_message() -> None:
    town, a, _, queue = await two()
    town.clock.advance_ms(BELIEVED_MS)
    coordination = a.engine.cluster.coordination

    async def away(*_: object) -> None:
        raise StoreUnavailable("by the test")

    home, coordination.home = coordination.home, away  # type: ignore[method-assign, assignment]
    await a.send(queue, "one")
    coordination.home = home  # type: ignore[method-assign]
    await pass_ms(town, 2 * SECOND_MS)

    assert await a.bodies(queue) == ["one"]


async def test_a_cluster_of_one_data_centre_asks_for_no_home() -> None:
    town = Town()
    a = await town.node("a")
    queue = await a.create("orders")
    await a.send(queue, "one")
    await town.beat()

    assert a.engine.cluster.homes is None
    assert a.engine.cache is town.cache
    assert await a.bodies(queue) == ["one"]
    assert town.shared.homes == {}


async def test_a_delay_that_the_home_has_changed_has_its_fifo_queue_filled_anew_by_nobody() -> None:
    town, a, b, queue = await two("orders.fifo")
    await b.receive(queue)
    before = (await a.cache.state(shard_of(queue))).epoch

    await queues.change_settings(a.engine, queue, {"delay_ms": SECOND_MS})
    await pass_ms(town, 10 * SECOND_MS)

    assert b.engine.registry.find(queue.key).settings.delay_ms == SECOND_MS
    assert (await a.cache.state(shard_of(queue))).epoch == before
