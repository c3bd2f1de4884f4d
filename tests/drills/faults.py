"""What is broken on purpose, and when: at shares of the load that was sent, so that a fault always meets a busy server.

Each fault is a coroutine over the place and the run, which notes from when to when something was broken.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import random
import signal
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from tests.drills.history import Fault
from tests.drills.load import Run
from tests.drills.place import Place, redis_says

REDIS_DOWN_S = 0.5
_BALLAST = "ballast"


@dataclass(frozen=True)
class Scale:
    """`rounds`: how often; `pause_s`: how long something stands still."""

    rounds: int
    pause_s: float


SHORT, LONG = Scale(rounds=3, pause_s=2.0), Scale(rounds=12, pause_s=10.0)

Nemesis = Callable[[Place, Run, Scale, random.Random], Awaitable[None]]


@asynccontextmanager
async def _fault(run: Run, name: str) -> AsyncIterator[None]:
    started_s = time.monotonic()
    try:
        yield
    finally:
        run.history.faults.append(Fault(name, started_s, time.monotonic()))


async def _rounds(run: Run, scale: Scale) -> AsyncIterator[int]:
    """Spread over the load."""
    for number in range(scale.rounds):
        await run.reached((number + 0.7) / (scale.rounds + 1))
        yield number


async def nothing(place: Place, run: Run, scale: Scale, rng: random.Random) -> None:
    """No fault."""


async def node_killed(place: Place, run: Run, scale: Scale, rng: random.Random) -> None:
    """kill -9 of an API node, again and again; it is started at once."""
    async for _ in _rounds(run, scale):
        node = rng.choice(place.nodes)
        async with _fault(run, "API node killed"):
            await asyncio.to_thread(node.kill)
            await place.restart(node)


async def redis_killed(place: Place, run: Run, scale: Scale, rng: random.Random) -> None:
    """Redis is killed and started again, empty."""
    assert place.redis is not None
    async for _ in _rounds(run, scale):
        async with _fault(run, "Redis killed"):
            await asyncio.to_thread(place.redis.stop)
            await asyncio.sleep(REDIS_DOWN_S)
            await asyncio.to_thread(place.redis.start)


async def redis_flushed(place: Place, run: Run, scale: Scale, rng: random.Random) -> None:
    """FLUSHALL."""
    assert place.redis is not None
    async for _ in _rounds(run, scale):
        async with _fault(run, "FLUSHALL"):
            await redis_says(place.redis, "FLUSHALL")


async def redis_paused(place: Place, run: Run, scale: Scale, rng: random.Random) -> None:
    """SIGSTOP; its memory is as it was when it goes on, and so are the requests that wait in its sockets."""
    assert place.redis is not None
    await run.reached(0.3)
    async with _fault(run, "Redis stopped"):
        os.kill(place.redis.pid, signal.SIGSTOP)
        await asyncio.sleep(scale.pause_s)
        os.kill(place.redis.pid, signal.SIGCONT)


async def redis_cut(place: Place, run: Run, scale: Scale, rng: random.Random) -> None:
    """No packets between the nodes and Redis, which goes on running and remembers."""
    await run.reached(0.3)
    async with _fault(run, "Redis cut off"):
        for link in place.redis_links:
            link.cut()
        await asyncio.sleep(scale.pause_s)
        for link in place.redis_links:
            link.mend()


async def redis_full(place: Place, run: Run, scale: Scale, rng: random.Random) -> None:
    """maxmemory below what Redis holds: every write is refused."""
    assert place.redis is not None
    await run.reached(0.3)
    async with _fault(run, "Redis full"):
        await redis_says(place.redis, "CONFIG", "SET", "maxmemory", "100kb")
        await asyncio.sleep(scale.pause_s)
        await redis_says(place.redis, "CONFIG", "SET", "maxmemory", "0")


async def filler_killed(place: Place, run: Run, scale: Scale, rng: random.Random) -> None:
    """Redis forgets all queues when everything was sent, and the node that fills them again is killed while it does."""
    assert place.redis is not None
    await run.reached(1.0)
    for _ in range(min(scale.rounds, 3)):
        async with _fault(run, "filler killed"):
            await redis_says(place.redis, "FLUSHALL")
            await _filling(place)
            node = rng.choice(place.nodes)
            await asyncio.to_thread(node.kill)
            await place.restart(node)


async def _filling(place: Place) -> None:
    """Returns as soon as a shard is in Redis again, in part."""
    assert place.redis is not None
    give_up_s = time.monotonic() + 5
    while await redis_says(place.redis, "DBSIZE") == b":0\r\n" and time.monotonic() < give_up_s:  # noqa: ASYNC110
        await asyncio.sleep(0.001)


async def cassandra_paused(place: Place, run: Run, scale: Scale, rng: random.Random) -> None:
    """All Cassandra nodes stand still."""
    assert place.ring is not None
    await run.reached(0.3)
    async with _fault(run, "Cassandra paused"):
        for node in place.ring.nodes:
            node.pause()
        await asyncio.sleep(scale.pause_s)
        for node in place.ring.nodes:
            node.resume()


async def disk_full(place: Place, run: Run, scale: Scale, rng: random.Random) -> None:
    """The store's disk has no byte left, for a while."""
    await run.reached(0.3)
    ballast = place.data_dir / _BALLAST
    async with _fault(run, "disk full"):
        await asyncio.to_thread(_fill_up, str(ballast))
        await asyncio.sleep(scale.pause_s)
        ballast.unlink()


def _fill_up(path: str) -> None:
    with open(path, "wb", buffering=0) as ballast:
        for size in (1 << 20, 1 << 12):
            with contextlib.suppress(_DiskFull):
                while True:
                    _write(ballast.fileno(), b"\0" * size)


class _DiskFull(Exception):
    pass


def _write(file: int, data: bytes) -> None:
    try:
        os.write(file, data)
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        raise _DiskFull from error


def drops(share: float) -> Nemesis:
    """Chunks of bytes to and from Redis and Cassandra vanish with their connections, from beginning to end."""

    async def nemesis(place: Place, run: Run, scale: Scale, rng: random.Random) -> None:
        links = [*place.redis_links, *place.cassandra_links]
        async with _fault(run, f"drops {share:g}"):
            for link in links:
                link.drop_share = share
            await run.reached(1.0)
            for link in links:
                link.drop_share = 0.0

    return nemesis
