"""One queue, emptied by receivers on several nodes with one consistency hint."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from statistics import fmean

from benchmarks.hint_nodes import CountedHints, make_nodes
from benchmarks.hint_points import Point
from cqs.cluster import hint
from cqs.queue import Queue, QueueName
from cqs.service import delete, queues
from cqs.service.engine import Engine
from cqs.service.receive import ReceiveRequest, receive
from cqs.service.send import Draft, send_batch

NODES = 4
VISIBILITY_MS = 600_000
WORK_MS_MAX = 4.0
"""A receiver processes a message for up to this long before it deletes it."""
IDLE_S = 0.005
BATCH = 10


class _Run:
    """One queue being emptied."""

    def __init__(self, engines: Sequence[Engine], queue: Queue, rng: random.Random, messages: int) -> None:
        self._engines, self._queue, self._rng, self._messages = engines, queue, rng, messages
        self.order: list[int] = []
        """Addresses in the order of their first delivery."""
        self._seen: set[int] = set()
        self.duplicates = 0

    async def receiver(self, number: int) -> None:
        """Receives one message at a time until all messages have been received by some receiver."""
        engine = self._engines[number % len(self._engines)]
        request = ReceiveRequest(1, wait_ms=0)
        while len(self._seen) < self._messages:
            deliveries = await receive(engine, self._queue, request, lambda: True)
            for one in deliveries:
                self._note(one.message.address)
                await asyncio.sleep(self._rng.uniform(0.0, WORK_MS_MAX) / 1_000)
                await delete.delete(engine, self._queue, one.handle)
            if not deliveries:
                await asyncio.sleep(IDLE_S)

    def _note(self, address: int) -> None:
        if address in self._seen:
            self.duplicates += 1
        else:
            self._seen.add(address)
            self.order.append(address)


async def measure(value: str, receivers: int, messages: int, seed: int) -> Point:
    """Measures how the receivers empty one queue of `messages` waiting messages."""
    rng = random.Random(seed)
    engines = await make_nodes(NODES, rng)
    changes: dict[str, object] = {"visibility_ms": VISIBILITY_MS}
    queue = await queues.create(engines[0], QueueName("0" * 12, "hinted"), changes, {hint.TAG: value})
    for engine in engines[1:]:
        engine.registry.put(queue)
    for _ in range(messages // BATCH):
        await send_batch(engines[0], queue, [Draft("x")] * BATCH, "sender")
    loop = asyncio.get_running_loop()
    run, started_s = _Run(engines, queue, rng, messages), loop.time()
    await asyncio.gather(*[run.receiver(number) for number in range(receivers)])
    took_s = loop.time() - started_s
    hints = [engine.hints for engine in engines if isinstance(engine.hints, CountedHints)]
    places = {address: place for place, address in enumerate(sorted(run.order))}
    return Point(
        hint=value,
        receivers=receivers,
        seed=seed,
        messages=messages,
        duplicates=run.duplicates,
        collisions=sum(one.collisions for one in hints),
        takes=sum(len(one.widths) for one in hints),
        displacement=fmean(abs(at - places[address]) for at, address in enumerate(run.order)),
        messages_per_s=messages / took_s,
        k_mean=fmean(k for one in hints for k in one.widths),
    )
