"""Looking at a queue from the data centre that is not its home, as an open page of the console does."""

from __future__ import annotations

import pytest

from cqs.cache.entry import State
from cqs.cache.interface import Residency
from cqs.service.engine import shard_of
from cqs.service.homes import HOLD_MS
from cqs.service.peek import find, oldest, peek
from tests.cluster import Town
from tests.datacenters import SECOND_MS, pass_ms, two
from tests.engine import Bench


async def home_of(bench: Bench, name: str) -> str:
    """Returns the data centre that is home to the queue, as the node knows it."""
    queue = next(one for one in bench.engine.registry if one.name == name)
    homes = bench.engine.cluster.homes
    assert homes is not None
    home = await homes.look(shard_of(queue))
    return home.datacenter if home is not None else ""


@pytest.mark.parametrize("name", ["orders", "orders.fifo"])
async def test_looking_from_elsewhere_leaves_a_queue_with_its_senders(name: str) -> None:
    town, a, b, queue = await two(name)
    await pass_ms(town, HOLD_MS)

    for _ in range(HOLD_MS // SECOND_MS):
        await a.send(queue, "x")
        assert (await peek(b.engine, queue, State.READY)).found == []
        assert (await oldest(b.engine, queue, State.READY, 10))[0] == []
        await pass_ms(town, SECOND_MS)

    assert await home_of(a, name) == await home_of(b, name) == "dc1"
    assert (await a.cache.state(shard_of(queue))).residency is Residency.READY


async def lost() -> tuple[Town, Bench, str]:
    """Returns a node of the second data centre, after the loss of the first with a message in its queue, and its id."""
    town, a, b, queue = await two()
    await a.send(queue, "one")
    (message,) = (await peek(a.engine, queue, State.READY)).found
    await pass_ms(town, HOLD_MS)
    await town.kill("a")
    return town, b, message.message.message_id


async def test_of_a_lost_data_centre_a_queue_is_taken_by_looking_at_it() -> None:
    town, b, message_id = await lost()
    queue = next(iter(b.engine.registry))

    await peek(b.engine, queue, State.READY)
    await pass_ms(town, 5 * SECOND_MS)

    assert await home_of(b, "orders") == "dc2"
    assert (await find(b.engine, queue, message_id)).message.body == "one"
