"""Several nodes in one process: each has its own engine; they share a store and real Redis servers.

async with nodes_on(redis_process, count=2) as (a, b):
    queue = await a.create("orders", a, b)
    poll = await b.poll(queue)                 it has found nothing and is waiting
    await a.send(queue, "one")
    assert await ended(poll) == ["one"]
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from cqs.cache.interface import Shard, Taken, TakeRequest
from cqs.cache.redis.bells import RedisBells
from cqs.cache.redis.cache import RedisCache
from cqs.cluster.ring import Ring
from cqs.ids import Addresses
from cqs.queue import Queue, QueueName
from cqs.receipt import Receipts
from cqs.service import queues, repair
from cqs.service.cluster import alone
from cqs.service.deliver import Delivery
from cqs.service.engine import Engine
from cqs.service.long_poll import Waiters
from cqs.service.receive import ReceiveRequest, receive
from cqs.service.registry import Registry
from cqs.service.send import Draft, send_batch
from cqs.service.sleepers import NodeSleepers
from cqs.store.memory import MemoryStore
from cqs.testing.clock import ManualClock
from cqs.testing.witness import RecordingWitness
from tests.engine import ACCOUNT
from tests.redis_server import RedisProcess, server_at

PATIENCE_S = 90
"""A timeout that only a broken test reaches."""
WAIT_MS = 600_000


class WatchedCache(RedisCache):
    """Counts how often waiting receives have looked for messages."""

    looks = 0
    looked: asyncio.Event | None = None

    async def take(self, shard: Shard, request: TakeRequest) -> Taken:
        taken = await super().take(shard, request)
        self.looks += request.is_waiting
        if request.is_waiting and self.looked is not None:
            self.looked.set()
        return taken


@dataclass(frozen=True, slots=True)
class Node:
    engine: Engine
    cache: WatchedCache
    bells: RedisBells
    clock: ManualClock
    witness: RecordingWitness

    async def create(self, name: str, *known_to: Node, **changes: object) -> Queue:
        """Creates a queue that this node and `known_to` know."""
        fifo: dict[str, object] = {"is_fifo": True} if name.endswith(".fifo") else {}
        queue = await queues.create(self.engine, QueueName(ACCOUNT, name), fifo | changes, {})
        for node in known_to:
            node.engine.registry.put(queue)
        return queue

    async def send(self, queue: Queue, *bodies: str) -> None:
        """Sends the bodies in one batch; on a FIFO queue, all to one group."""
        is_fifo = queue.settings.is_fifo
        drafts = [
            Draft(body, group="g", dedup_id=f"{self.engine.rng.getrandbits(64)}") if is_fifo else Draft(body)
            for body in bodies
        ]
        await send_batch(self.engine, queue, drafts, "sender")

    async def receive(self, queue: Queue, count_max: int = 10) -> list[Delivery]:
        return await receive(self.engine, queue, ReceiveRequest(count_max, wait_ms=0), lambda: True)

    async def repair(self) -> None:
        """Repeats this node's unconfirmed cache updates until the cache confirms them. A server does this in a
        background loop."""
        async with asyncio.timeout(PATIENCE_S):
            while len(self.engine.dirt):
                await repair.step(self.engine)
                await asyncio.sleep(0)

    async def poll(self, queue: Queue) -> asyncio.Task[list[Delivery]]:
        """Starts a receive of one message that waits, and returns once it has looked for messages."""
        looked = self.cache.looked = asyncio.Event()
        request = ReceiveRequest(1, wait_ms=WAIT_MS)
        task = asyncio.create_task(receive(self.engine, queue, request, lambda: True))
        await asyncio.wait((task, asyncio.ensure_future(looked.wait())), return_when=asyncio.FIRST_COMPLETED)
        return task


async def ended(*polls: asyncio.Task[list[Delivery]]) -> list[str]:
    """Waits until all of these receives have ended and returns the bodies they got."""
    async with asyncio.timeout(PATIENCE_S):
        return [delivery.message.body for found in await asyncio.gather(*polls) for delivery in found]


async def first_of(*polls: asyncio.Task[list[Delivery]]) -> list[asyncio.Task[list[Delivery]]]:
    """Waits until one of these receives has ended and returns the others."""
    done, left = await asyncio.wait(polls, timeout=PATIENCE_S, return_when=asyncio.FIRST_COMPLETED)
    assert done
    return [poll for poll in polls if poll in left]


@asynccontextmanager
async def nodes_on(
    *processes: RedisProcess, count: int = 2, ping_s: float = 0.01, look_s: float = 0.01, timeout_s: float = 60.0
) -> AsyncIterator[list[Node]]:
    """Starts `count` nodes. They and their Redis cache use one manual clock."""
    clock = ManualClock()
    store = MemoryStore(clock)
    await store.open()
    async with AsyncExitStack() as stack:
        yield [await _node(stack, processes, store, clock, seed, ping_s, look_s, timeout_s) for seed in range(count)]


async def _node(
    stack: AsyncExitStack,
    processes: tuple[RedisProcess, ...],
    store: MemoryStore,
    clock: ManualClock,
    seed: int,
    ping_s: float,
    look_s: float,
    timeout_s: float,
) -> Node:
    rng = random.Random(seed)
    servers = {process.path: server_at(process, look_s=look_s, timeout_s=timeout_s) for process in processes}
    cache = WatchedCache(servers, Ring(dict.fromkeys(servers, 1.0)).owner, rng, now_ms=clock.now_ms)
    bells = RedisBells(cache.servers, {name: server.address for name, server in servers.items()}, rng, ping_s)
    registry, waiters, witness = Registry(), Waiters(), RecordingWitness()
    bells.attach(NodeSleepers(registry, waiters))
    await cache.start()
    stack.push_async_callback(cache.close)
    await bells.start()
    stack.push_async_callback(bells.close)
    engine = Engine(
        clock=clock,
        rng=rng,
        addresses=Addresses(clock, rng),
        cache=cache,
        bells=bells,
        store=store,
        registry=registry,
        waiters=waiters,
        receipts=Receipts(await store.secret()),
        witness=witness,
        cluster=alone(clock, place=cache.servers.name_of, short=cache.servers.short),
    )
    stack.push_async_callback(engine.background.drain)
    stack.callback(waiters.end_all)
    return Node(engine, cache, bells, clock, witness)
