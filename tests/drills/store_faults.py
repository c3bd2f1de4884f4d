"""What happens to Cassandra, and to the disk below SQLite."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import random
from dataclasses import replace

from tests.drills.faulting import Scale, fault
from tests.drills.load import Run
from tests.drills.node_faults import standard_queues, unanswered
from tests.drills.place import Place, redis_says

PAUSE_S_MAX = 5.0
_BALLAST = "ballast"


class _DiskFull(Exception):
    pass


async def cassandra_paused(place: Place, run: Run, scale: Scale, rng: random.Random) -> None:
    """All Cassandra nodes stand still, for PAUSE_S_MAX at most: a send that was in vain for longer is tried again by
    its client, and then is there twice."""
    assert place.ring is not None
    await run.reached(0.3)
    async with fault(run, "Cassandra paused"):
        for node in place.ring.nodes:
            node.pause()
        await asyncio.sleep(min(scale.pause_s, PAUSE_S_MAX))
        for node in place.ring.nodes:
            node.resume()


async def cassandra_cut_from_one(place: Place, run: Run, scale: Scale, rng: random.Random) -> None:
    """No packets between one node and Cassandra, for longer than a call waits; the others reach it, and all Redis."""
    await run.reached(0.3)
    async with fault(run, "Cassandra cut off from one node"):
        place.cassandra_links[0].cut()
        await asyncio.sleep(max(scale.pause_s, PAUSE_S_MAX))
        place.cassandra_links[0].mend()


async def tombstones_met(place: Place, run: Run, scale: Scale, rng: random.Random) -> None:
    """A row of a queue gets more tombstones than Cassandra reads at once, and a message behind them that Redis does not
    know. Then Redis is emptied, so that all is read past the tombstones."""
    assert place.ring is not None and place.redis is not None
    await run.reached(0.3)
    bodies = unanswered(run, standard_queues(run)[:1], run.load.messages)
    async with fault(run, "FLUSHALL before a row of tombstones"):
        await place.append(bodies, tombstones=place.ring.tuning.tombstones_max * 101 // 100)
        await redis_says(place.redis, "FLUSHALL")


async def ring_paused(place: Place, run: Run, scale: Scale, rng: random.Random) -> None:
    """The same, for longer than a call waits for Cassandra, whatever the scale."""
    await cassandra_paused(place, run, replace(scale, pause_s=PAUSE_S_MAX), rng)


async def cassandra_killed(place: Place, run: Run, scale: Scale, rng: random.Random) -> None:
    """One node of the ring is killed, and comes back."""
    await _killed(place, run, scale, 1)


async def cassandra_majority_killed(place: Place, run: Run, scale: Scale, rng: random.Random) -> None:
    """Two of three nodes are killed, so that nothing has a quorum, and come back. A send of unknown outcome may be on
    the third alone, where no quorum sees it until it told the others; then the sweep finds it."""
    await _killed(place, run, scale, 2)


async def _killed(place: Place, run: Run, scale: Scale, count: int) -> None:
    assert place.ring is not None
    await run.reached(0.3)
    nodes = place.ring.nodes[-count:]
    async with fault(run, f"Cassandra killed, {count} of {len(place.ring.nodes)}"):
        for node in nodes:
            await asyncio.to_thread(node.kill)
        await asyncio.sleep(scale.pause_s)
        for node in nodes:
            node.launch(place.ring.tuning)
        for node in nodes:
            await asyncio.to_thread(node.wait)


async def disk_full(place: Place, run: Run, scale: Scale, rng: random.Random) -> None:
    """The store's disk has no byte left, for a while."""
    await run.reached(0.3)
    ballast = place.data_dir / _BALLAST
    async with fault(run, "disk full"):
        await asyncio.to_thread(_fill_up, str(ballast))
        await asyncio.sleep(scale.pause_s)
        ballast.unlink()


def _fill_up(path: str) -> None:
    with open(path, "wb", buffering=0) as ballast:
        for size in (1 << 20, 1 << 12):
            with contextlib.suppress(_DiskFull):
                while True:
                    _write(ballast.fileno(), b"\0" * size)


def _write(file: int, data: bytes) -> None:
    try:
        os.write(file, data)
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        raise _DiskFull from error
