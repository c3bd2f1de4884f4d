"""Fills an engine with many queues and messages, in bounded time."""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

from benchmarks.fleet import say
from cqs import digests
from cqs.errors import CacheUnavailable
from cqs.message import Message
from cqs.queue import UID_BITS, Queue, QueueName, Redrive, Settings
from cqs.service import queues
from cqs.service.engine import Engine, shard_of
from cqs.service.entries import entry_of
from cqs.service.statistics import Sampler

T = TypeVar("T")
ACCOUNT = "000000000000"
WORKERS = 32
LOAD_BATCH = 500
PAUSE_S = 0.5
"""The pause after a cache timeout: a busy machine may need longer for many messages at once."""


def name_of(number: int) -> str:
    """Returns the name of the queue with this number."""
    return f"queue-{number:05}"


async def fill(engine: Engine, queue_count: int, message_count: int) -> None:
    """Creates queues and messages. A tenth of the queues has all messages, the first ones the most; every hundredth has
    a dead-letter queue."""
    rng = random.Random(1)
    begun_s = time.perf_counter()
    dead = await queues.create(engine, QueueName(ACCOUNT, "dead-letters"), {}, {})

    async def create(number: int) -> Queue:
        settings = Settings(redrive=Redrive(dead.arn, 3)) if number % 100 == 0 else Settings()
        return await _create(engine, name_of(number), settings, {"n": str(number)}, rng.getrandbits(UID_BITS))

    made = await _all(create, range(queue_count))
    say(f"{len(made):,} queues made after {time.perf_counter() - begun_s:.0f} s")
    full = made[: max(1, queue_count // 10)]
    shares = Counter(int(rng.paretovariate(0.5)) % len(full) for _ in range(message_count))
    lots = [(full[place], min(LOAD_BATCH, count - start)) for place, count in shares.items()
            for start in range(0, count, LOAD_BATCH)]  # fmt: skip
    await _all(lambda number: _load(engine, *lots[number]), range(len(lots)))
    await Sampler(engine).sample()
    say(f"{message_count:,} messages loaded after {time.perf_counter() - begun_s:.0f} s")


async def _create(engine: Engine, name: str, settings: Settings, tags: dict[str, str], uid: int) -> Queue:
    """Like CreateQueue, but does not check for an existing or recently deleted queue, nor notify other nodes."""
    now_ms = engine.clock.now_ms()
    queue = Queue(
        account=ACCOUNT,
        name=name,
        region=engine.tuning.region,
        uid=uid,
        created_ms=now_ms,
        modified_ms=now_ms,
        settings=settings,
        tags=tags,
    )
    epoch = await engine.cache.begin_fill(shard_of(queue), queue.settings.retention_ms)
    if epoch is not None:
        engine.epochs.note(shard_of(queue), epoch)
        await engine.cache.fill(shard_of(queue), epoch, [], is_last=True)
    engine.registry.put(await engine.store.create(queue))
    return queue


async def _load(engine: Engine, queue: Queue, count: int) -> None:
    """Stores and caches `count` messages like a send."""
    now_ms = engine.clock.now_ms()
    bodies = [f'{{"order": {number}}}' for number in range(count)]
    messages = [
        Message(
            address=engine.addresses.next(engine.store.rows),
            body=body,
            md5=digests.raw_of_body(body),
            sent_ms=now_ms,
            sender_id="bench",
        )
        for body in bodies
    ]
    await engine.store.append(queue, messages)
    entries = [entry_of(engine, queue, message) for message in messages]
    while True:
        try:
            await engine.cache.put(shard_of(queue), entries)
            return
        except CacheUnavailable:
            await asyncio.sleep(PAUSE_S)


async def _all(work: Callable[[int], Awaitable[T]], numbers: Iterable[int]) -> list[T]:
    """Does the work with WORKERS tasks. Returns the results in no particular order."""
    left, found = iter(numbers), []

    async def some() -> None:
        for number in left:
            found.append(await work(number))

    await asyncio.gather(*(some() for _ in range(WORKERS)))
    return found
