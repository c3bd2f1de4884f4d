"""A FIFO queue whose shard is being filled, on a real Redis: its receives wait and never read the store."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from cqs.cache.entry import Entry
from cqs.queue import Queue
from cqs.service.engine import shard_of
from cqs.service.receive import ReceiveRequest, receive
from tests.needs import needs
from tests.nodes import Node, ended, nodes_on
from tests.redis_server import RedisProcess

pytestmark = needs("redis-server")


@pytest.fixture
async def two(own: RedisProcess) -> AsyncIterator[list[Node]]:
    async with nodes_on(own, count=2) as nodes:
        yield nodes


class Filling:
    """A fill of the queue's shard that ends when the test says so."""

    def __init__(self, node: Node, queue: Queue, epoch: int) -> None:
        self._node, self._queue, self._epoch = node, queue, epoch

    @classmethod
    async def begin(cls, node: Node, queue: Queue) -> Filling:
        await node.cache.drop(shard_of(queue))
        epoch = await node.cache.begin_fill(shard_of(queue), queue.settings.retention_ms)
        assert epoch is not None
        return cls(node, queue, epoch)

    async def end(self) -> None:
        entries = [
            Entry(address=stored.address, sent_ms=stored.sent_ms, group=stored.group, sequence=stored.sequence)
            async for page in self._node.engine.store.scan(self._queue)
            for stored in page
        ]
        assert await self._node.cache.fill(shard_of(self._queue), self._epoch, entries, is_last=True)


async def test_receive_waits_for_the_fill_and_gets_the_first_message(two: list[Node]) -> None:
    a, b = two
    queue = await a.create("orders.fifo", *two)
    await a.send(queue, "one", "two")
    filling = await Filling.begin(a, queue)
    poll = await b.poll(queue)

    await filling.end()

    assert await ended(poll) == ["one"]
    assert not b.witness.of("received_from_store")


async def test_receive_whose_time_is_over_before_the_fill_answers_empty(two: list[Node]) -> None:
    a, b = two
    queue = await a.create("orders.fifo", *two)
    await a.send(queue, "one")
    await Filling.begin(a, queue)

    for wait_ms in (0, 1):
        request = ReceiveRequest(10, wait_ms=wait_ms)
        assert await receive(b.engine, queue, request, lambda: True) == []


async def test_what_is_sent_while_filling_comes_after_what_was_there(two: list[Node]) -> None:
    a, b = two
    queue = await a.create("orders.fifo", *two)
    await a.send(queue, "one")
    filling = await Filling.begin(a, queue)

    await b.send(queue, "two")
    before = await b.receive(queue)
    await filling.end()

    assert before == []
    assert [delivery.message.body for delivery in await b.receive(queue)] == ["one", "two"]
