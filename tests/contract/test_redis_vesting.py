"""The vesting index of one real Redis, processed by two nodes: one of them reveals each due shard, and the other takes
over if it dies."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from cqs.cache.interface import VESTING_LEASE_MS
from cqs.service import revisibility
from cqs.service.engine import shard_of
from tests.needs import needs
from tests.nodes import Node, ended, nodes_on
from tests.redis_server import RedisProcess

pytestmark = needs("redis-server")
QUEUES = 40
VISIBILITY_MS = 5_000


@pytest.fixture
async def two(own: RedisProcess) -> AsyncIterator[list[Node]]:
    async with nodes_on(own, count=2) as nodes:
        yield nodes


async def test_two_nodes_share_the_due_shards(two: list[Node]) -> None:
    a, b = two
    queues = [await a.create(f"queue-{number}", *two, visibility_ms=VISIBILITY_MS) for number in range(QUEUES)]
    for queue in queues:
        await a.send(queue, "one")
        await a.receive(queue)
    a.clock.advance_ms(VISIBILITY_MS)

    taken = await asyncio.gather(*(node.cache.vesting(7) for node in two for _ in range(QUEUES // 7)))

    shards = [shard for found in taken for shard in found]
    assert len(shards) == len(set(shards)) == QUEUES
    assert await a.cache.vesting(QUEUES) == await b.cache.vesting(QUEUES) == []


async def test_each_message_is_revealed_and_woken_for_once(two: list[Node]) -> None:
    a, b = two
    queue = await a.create("orders", *two, visibility_ms=VISIBILITY_MS)
    await a.send(queue, "one")
    await a.receive(queue)
    poll = await b.poll(queue)
    looks = b.cache.looks
    a.clock.advance_ms(VISIBILITY_MS)

    await asyncio.gather(*(revisibility.step(node.engine) for node in two for _ in range(3)))

    assert await ended(poll) == ["one"]
    assert b.cache.looks == looks + 1
    assert len(a.witness.of("revealed")) + len(b.witness.of("revealed")) == 1


async def test_node_that_dies_between_taking_and_revealing_strands_nothing(two: list[Node]) -> None:
    a, b = two
    queue = await a.create("orders", *two, visibility_ms=VISIBILITY_MS)
    await a.send(queue, "one")
    await a.receive(queue)
    a.clock.advance_ms(VISIBILITY_MS)
    assert await a.cache.vesting(10) == [shard_of(queue)]

    await revisibility.step(b.engine)
    before = (await b.cache.counts(shard_of(queue))).ready
    a.clock.advance_ms(VESTING_LEASE_MS)
    await revisibility.step(b.engine)

    assert (before, (await b.cache.counts(shard_of(queue))).ready) == (0, 1)


async def test_work_that_turns_up_while_a_shard_is_leased_is_not_forgotten(two: list[Node]) -> None:
    a, b = two
    queue = await a.create("orders", *two, visibility_ms=VISIBILITY_MS)
    await a.send(queue, "one", "two")
    await a.receive(queue, 1)
    a.clock.advance_ms(VISIBILITY_MS)
    assert await a.cache.vesting(10) == [shard_of(queue)]

    early = await b.cache.vesting(10)
    await b.receive(queue, 1)
    await revisibility.step(b.engine)
    a.clock.advance_ms(VESTING_LEASE_MS)
    await revisibility.step(b.engine)

    assert early == []
    assert (await b.cache.counts(shard_of(queue))).ready == 2
