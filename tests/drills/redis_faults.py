"""Faults of Redis."""

from __future__ import annotations

import asyncio
import os
import random
import signal

from tests.drills.faulting import Scale, fault, rounds, slow_readers
from tests.drills.link import End
from tests.drills.load import Run
from tests.drills.memory import watched
from tests.drills.node_faults import rolling_restart
from tests.drills.place import Place
from tests.drills.redis_talk import copy_keys, redis_says

REDIS_DOWN_S = 0.5
AFTER_S = 3.0
"""How long the nodes' memory is watched after Redis continues."""
FILLED_S = 6.0
"""By then a node that was given an empty server has filled it with the queues and serves from it."""
OLDER_S = 1.0
"""How old a copy is when it replaces its original."""


async def redis_killed(place: Place, run: Run, scale: Scale, rng: random.Random) -> None:
    """Redis is killed and restarts empty."""
    assert place.redis is not None
    async for _ in rounds(run, scale):
        async with fault(run, "Redis killed"):
            await asyncio.to_thread(place.redis.stop)
            await asyncio.sleep(REDIS_DOWN_S)
            await asyncio.to_thread(place.redis.start)


async def redis_flushed(place: Place, run: Run, scale: Scale, rng: random.Random) -> None:
    """Redis loses all keys by FLUSHALL."""
    assert place.redis is not None
    async for _ in rounds(run, scale):
        async with fault(run, "FLUSHALL"):
            await redis_says(place.redis, "FLUSHALL")


async def redis_paused(place: Place, run: Run, scale: Scale, rng: random.Random) -> None:
    """SIGSTOP, then SIGCONT: Redis continues with its old memory and with the requests waiting in its sockets. No
    requests may pile up in the nodes."""
    assert place.redis is not None
    await run.reached(0.3)
    async with watched(run.history, [node.pid for node in place.nodes]):
        async with fault(run, "Redis stopped"):
            os.kill(place.redis.pid, signal.SIGSTOP)
            await asyncio.sleep(scale.pause_s)
            os.kill(place.redis.pid, signal.SIGCONT)
        await asyncio.sleep(AFTER_S)


async def redis_cut(place: Place, run: Run, scale: Scale, rng: random.Random) -> None:
    """The network between the nodes and Redis is cut. Redis keeps running and keeps its data."""
    await run.reached(0.3)
    async with fault(run, "Redis cut off"):
        for link in place.redis_links:
            link.cut()
        await asyncio.sleep(scale.pause_s)
        for link in place.redis_links:
            link.mend()


async def redis_cut_from_one(place: Place, run: Run, scale: Scale, rng: random.Random) -> None:
    """One node can't reach Redis; the others can."""
    await run.reached(0.3)
    async with fault(run, "Redis cut off from one node"):
        place.redis_links[0].cut()
        await asyncio.sleep(scale.pause_s)
        place.redis_links[0].mend()


async def redis_added(place: Place, run: Run, scale: Scale, rng: random.Random) -> None:
    """A second Redis server is added to the nodes' configuration by a rolling restart."""
    await run.reached(0.3)
    await place.add_redis()
    await rolling_restart(place, run, scale, rng)


async def redis_replaced(place: Place, run: Run, scale: Scale, rng: random.Random) -> None:
    """Another Redis server replaces the only one, configured on one node after the other, while messages are waiting
    and in flight. Both servers keep running, and for a while nodes with the old and the new list run side by side."""
    await run.reached(0.3)
    await place.add_redis(is_instead=True)
    with slow_readers(run):
        for count, node in enumerate(place.nodes):
            if count:
                await asyncio.sleep(max(scale.pause_s, FILLED_S))
            async with fault(run, "API node restarted"):
                await asyncio.to_thread(node.stop)
                await asyncio.to_thread(node.start)


async def redis_exchanged(place: Place, run: Run, scale: Scale, rng: random.Random) -> None:
    """Another Redis server takes over the address while messages are waiting and in flight: first an empty one, then
    an older copy, which misses new messages and still has deleted ones; and so on. Those before keep running."""
    assert place.redis is not None
    now = place.redis
    with slow_readers(run):
        async for number in rounds(run, scale):
            before, now = now, await place.start_redis()
            if number % 2:
                await asyncio.to_thread(copy_keys, before, now)
                await asyncio.sleep(OLDER_S)
            async with fault(run, "Redis exchanged"):
                for link in place.redis_links:
                    link.lead_to(End(path=now.path))


async def redis_gone(place: Place, run: Run, scale: Scale, rng: random.Random) -> None:
    """One of two Redis servers dies for good. Its queues are served from the store, the others as usual, until a
    rolling restart gives the nodes a list without it."""
    await run.reached(0.3)
    gone = place.more_redis[-1]
    async with fault(run, "Redis gone"):
        await asyncio.to_thread(gone.stop)
        await asyncio.sleep(scale.pause_s)
    for node in place.nodes:
        at = node.arguments.index(gone.url)
        node.arguments[at - 1 : at + 1] = ["--redis-list-version", "2"]
    await rolling_restart(place, run, scale, rng)


async def redis_full(place: Place, run: Run, scale: Scale, rng: random.Random) -> None:
    """maxmemory is set below the memory in use, so Redis rejects every write."""
    assert place.redis is not None
    await run.reached(0.3)
    async with fault(run, "Redis full"):
        await redis_says(place.redis, "CONFIG", "SET", "maxmemory", "100kb")
        await asyncio.sleep(scale.pause_s)
        await redis_says(place.redis, "CONFIG", "SET", "maxmemory", "0")
