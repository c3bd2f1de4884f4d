"""Several nodes send, receive, delete, give back and change visibility concurrently, on a real Redis. At the end no
receive is left waiting, on any node, while there is a message it could get."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Coroutine

import pytest

from cqs.cache.entry import State
from cqs.errors import SqsError
from cqs.queue import Queue
from cqs.service import delete, revisibility, visibility
from cqs.service.deliver import Delivery
from cqs.service.engine import shard_of
from cqs.service.receive import ReceiveRequest, give_back, receive
from cqs.service.send import Draft, send_batch
from tests.needs import needs
from tests.nodes import PATIENCE_S, WAIT_MS, Node, nodes_on
from tests.redis_server import RedisProcess

pytestmark = needs("redis-server")

STEPS, AT_ONCE_MAX, POLLS_MAX = 60, 9, 12


class Day:
    """A random history of one queue."""

    def __init__(self, nodes: list[Node], queue: Queue, rng: random.Random) -> None:
        self.nodes = nodes
        self.queue = queue
        self.rng = rng
        self.polls: set[asyncio.Task[None]] = set()
        self.held: list[Delivery] = []

    async def step(self) -> None:
        await asyncio.gather(*[self.act(self.rng.choice(self.nodes)) for _ in range(self.rng.randint(1, AT_ONCE_MAX))])
        self.nodes[0].clock.advance_ms(self.rng.choice([0, 0, 0, 0, 0, 0, 0, 6_000]))
        async with asyncio.timeout(PATIENCE_S):
            while await self.may_be_received() and self.asleep():
                await revisibility.step(self.rng.choice(self.nodes).engine)
                await asyncio.sleep(0)

    def act(self, node: Node) -> Coroutine[object, object, None]:
        chance = self.rng.random()
        if chance < 0.25:
            return self.send(node, self.rng.randint(1, 2))
        if chance < 0.6 or not self.held:
            return self.poll(node)
        return self.end(node, self.held.pop(self.rng.randrange(len(self.held))))

    async def send(self, node: Node, count: int) -> None:
        ids = [f"{self.rng.getrandbits(64)}" for _ in range(count)] if self.queue.settings.is_fifo else [None] * count
        drafts = [Draft("body", group=one and f"g{self.rng.randint(0, 2)}", dedup_id=one) for one in ids]
        await send_batch(node.engine, self.queue, drafts, "sender")

    async def poll(self, node: Node) -> None:
        async def wait() -> None:
            request = ReceiveRequest(self.rng.randint(1, 2), wait_ms=WAIT_MS)
            self.held += await receive(node.engine, self.queue, request, lambda: True)

        if len(self.polls) < POLLS_MAX:
            task = asyncio.create_task(wait())
            self.polls.add(task)
            task.add_done_callback(self.polls.discard)

    async def end(self, node: Node, held: Delivery) -> None:
        how = self.rng.randrange(4)
        try:
            if how == 0:
                await give_back(node.engine, self.queue, [held])
            elif how == 1:
                await visibility.change(node.engine, self.queue, held.handle, 0)
            else:
                await delete.delete(node.engine, self.queue, held.handle)
        except SqsError:
            pass  # Its timeout is over.

    def asleep(self) -> int:
        return sum(node.engine.waiters.asleep(self.queue.uid) for node in self.nodes)

    async def may_be_received(self) -> bool:
        """In a FIFO group, only the messages before the first one in flight."""
        cache, shard = self.nodes[0].engine.cache, shard_of(self.queue)
        ready = (await cache.peek(shard, State.READY, None, 1_000)).entries
        locks = (await cache.peek(shard, State.IN_FLIGHT, None, 1_000)).entries if shard.is_fifo else []
        return any(all(one.sequence < lock.sequence for lock in locks if lock.group == one.group) for one in ready)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("name", ["orders", "orders.fifo"])
async def test_no_message_lies_beside_a_receive_that_sleeps(own: RedisProcess, name: str, seed: int) -> None:
    async with nodes_on(own, count=3) as nodes:
        day = Day(nodes, await nodes[0].create(name, *nodes, visibility_ms=5_000), random.Random(seed))
        for _ in range(STEPS):
            await day.step()
        for poll in list(day.polls):
            poll.cancel()
        await asyncio.gather(*day.polls, return_exceptions=True)
