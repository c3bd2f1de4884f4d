"""Calls of a consumer or producer, interrupted at each of their awaits in turn because the node and its data centre
die. The other data centre takes over the queues, and the client retries the call there: no message is lost, and none of
a FIFO queue is delivered twice or out of order."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest

from cqs.errors import InvalidParameterValue, ServiceUnavailable
from cqs.queue import Queue
from cqs.service import delete
from cqs.service.homes import GRACE_MS, HOLD_MS
from cqs.service.sweep import SIGHT_MS, Sweep
from tests.datacenters import SECOND_MS, pass_ms
from tests.engine import FailingCache
from tests.property.cutting import CutAt
from tests.property.test_cut_off import (
    STORE_CALLS,
    VISIBILITY_MS,
    WAITS_MAX,
    Call,
    World,
    buries,
    check,
    deletes,
    make_world,
    moves_dead_letters,
    no_pause,
    sends,
)

EMPTY_S = 3 * GRACE_MS // SECOND_MS
"""How long receives may be empty while a home changes."""


async def goes_on(world: World) -> None:
    """The first data centre is gone, and the other one has found what only the store has."""
    town = world.town
    await world.a.engine.background.drain()
    del town.nodes["a"]
    await town.store.close()
    await town.store.open()
    await pass_ms(town, HOLD_MS)
    sweep = Sweep()
    for _ in range(2):
        for queue in (world.orders, world.dead):
            await world.b.receive(queue, visibility_ms=0)
        await pass_ms(town, SIGHT_MS)
        await sweep.sweep(world.b.engine, no_pause)


async def repeated(call: Call, world: World) -> None:
    for _ in range(EMPTY_S):
        try:
            with contextlib.suppress(InvalidParameterValue):  # A move task is running already.
                return await call(world, world.b)
        except ServiceUnavailable:
            await pass_ms(world.town, SECOND_MS)


async def drained(world: World, queue: Queue) -> list[str]:
    bodies: list[str] = []
    empty = 0
    while empty < EMPTY_S:
        received = await world.b.receive(queue)
        for delivery in received:
            bodies.append(delivery.message.body)
            await delete.delete(world.b.engine, queue, delivery.handle)
        empty = 0 if received else empty + 1
        await pass_ms(world.town, SECOND_MS)
    assert await world.b.stored(queue) == []
    return bodies


async def lives_through(call: Call, suffix: str, wait: int) -> bool:
    """Returns False if the call has fewer awaits."""
    world = await make_world(suffix, False, ("dc1", "dc2"))
    world.town.store.slow(*STORE_CALLS)
    for cache in world.town.caches.values():
        cache.slow(*FailingCache.CALLS)
    is_cut = await CutAt(call(world, world.a), wait, is_killed=True)
    await goes_on(world)
    if is_cut:
        await repeated(call, world)
    await pass_ms(world.town, 2 * VISIBILITY_MS)
    check(world, await drained(world, world.orders), await drained(world, world.dead))
    return is_cut


CALLS: list[Any] = [sends, deletes, buries, moves_dead_letters]


@pytest.mark.parametrize("suffix", ["", ".fifo"], ids=["standard", "fifo"])
@pytest.mark.parametrize("call", CALLS)
async def test_a_call_may_be_cut_off_with_its_data_centre_at_each_of_its_waits(call: Call, suffix: str) -> None:
    wait = 1
    while await lives_through(call, suffix, wait):
        wait += 1
        assert wait < WAITS_MAX
    assert wait > 2
