"""What happens to Redis."""

from __future__ import annotations

import asyncio
import os
import random
import signal

from tests.drills.faulting import Scale, fault, rounds
from tests.drills.load import Run
from tests.drills.node_faults import rolling_restart
from tests.drills.place import Place, redis_says

REDIS_DOWN_S = 0.5


async def redis_killed(place: Place, run: Run, scale: Scale, rng: random.Random) -> None:
    """Redis is killed and started again, empty."""
    assert place.redis is not None
    async for _ in rounds(run, scale):
        async with fault(run, "Redis killed"):
            await asyncio.to_thread(place.redis.stop)
            await asyncio.sleep(REDIS_DOWN_S)
            await asyncio.to_thread(place.redis.start)


async def redis_flushed(place: Place, run: Run, scale: Scale, rng: random.Random) -> None:
    """FLUSHALL."""
    assert place.redis is not None
    async for _ in rounds(run, scale):
        async with fault(run, "FLUSHALL"):
            await redis_says(place.redis, "FLUSHALL")


async def redis_paused(place: Place, run: Run, scale: Scale, rng: random.Random) -> None:
    """SIGSTOP; its memory is as it was when it goes on, and so are the requests that wait in its sockets."""
    assert place.redis is not None
    await run.reached(0.3)
    async with fault(run, "Redis stopped"):
        os.kill(place.redis.pid, signal.SIGSTOP)
        await asyncio.sleep(scale.pause_s)
        os.kill(place.redis.pid, signal.SIGCONT)


async def redis_cut(place: Place, run: Run, scale: Scale, rng: random.Random) -> None:
    """No packets between the nodes and Redis, which goes on running and remembers."""
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
    """A second Redis server, told to the nodes by a rolling restart."""
    await run.reached(0.3)
    await place.add_redis()
    await rolling_restart(place, run, scale, rng)


async def redis_replaced(place: Place, run: Run, scale: Scale, rng: random.Random) -> None:
    """Another Redis server in the place of the only one, told to the nodes one by one; both servers run on, and for a
    while nodes of both lists."""
    await run.reached(0.3)
    await place.add_redis(is_instead=True)
    for node in place.nodes:
        async with fault(run, "API node restarted"):
            await asyncio.to_thread(node.stop)
            await asyncio.to_thread(node.start)
        await asyncio.sleep(scale.pause_s)


async def redis_gone(place: Place, run: Run, scale: Scale, rng: random.Random) -> None:
    """One of two Redis servers dies for good. Its queues are served from the store, and the others as ever, until the
    nodes are told, one by one, of a list without it."""
    await run.reached(0.1)
    await place.add_redis()
    await rolling_restart(place, run, scale, rng)
    await run.reached(0.6)
    gone = place.more_redis[-1]
    async with fault(run, "Redis gone"):
        await asyncio.to_thread(gone.stop)
        await asyncio.sleep(scale.pause_s)
    for node in place.nodes:
        at = node.arguments.index(gone.url)
        node.arguments[at - 1 :] = ["--redis-list-version", str(2 + len(place.more_redis))]
    await rolling_restart(place, run, scale, rng)


async def redis_full(place: Place, run: Run, scale: Scale, rng: random.Random) -> None:
    """maxmemory below what Redis holds: every write is refused."""
    assert place.redis is not None
    await run.reached(0.3)
    async with fault(run, "Redis full"):
        await redis_says(place.redis, "CONFIG", "SET", "maxmemory", "100kb")
        await asyncio.sleep(scale.pause_s)
        await redis_says(place.redis, "CONFIG", "SET", "maxmemory", "0")
