"""Faults of Cassandra and of SQLite's disk."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import random
import time

from tests.drills.faulting import Scale, fault
from tests.drills.history import Fault
from tests.drills.load import IDLE_S, Run
from tests.drills.node_faults import standard_queues, unanswered
from tests.drills.place import Place
from tests.drills.redis_talk import redis_says
from tests.drills.refusals import REFUSED, refused

PAUSE_S_MAX = 5.0
CUT_S_MIN = 7.0
"""Longer than a call waits for Cassandra."""
REFUSAL_S_MAX = 90.0
_BALLAST = "ballast"


class _DiskFull(Exception):
    pass


async def cassandra_paused(place: Place, run: Run, scale: Scale, rng: random.Random) -> None:
    """Pauses all Cassandra nodes, for at most PAUSE_S_MAX: so long calls wait. After a longer pause clients would retry
    sends that succeed later, which creates duplicates."""
    await _paused(place, run, min(scale.pause_s, PAUSE_S_MAX))


async def ring_paused(place: Place, run: Run, scale: Scale, rng: random.Random) -> None:
    """Like `cassandra_paused`, but for PAUSE_S_MAX at any scale: longer than one attempt waits for Cassandra."""
    await _paused(place, run, PAUSE_S_MAX)


async def _paused(place: Place, run: Run, seconds: float) -> None:
    assert place.ring is not None
    await run.reached(0.3)
    async with fault(run, "Cassandra paused"):
        for node in place.ring.nodes:
            node.pause()
        await asyncio.sleep(seconds)
        for node in place.ring.nodes:
            node.resume()


async def cassandra_cut_from_one(place: Place, run: Run, scale: Scale, rng: random.Random) -> None:
    """The network between one API node and Cassandra is cut for longer than a call's timeout. The other nodes reach
    Cassandra, and all nodes reach Redis."""
    await run.reached(0.3)
    async with fault(run, "Cassandra cut off from one node"):
        place.cassandra_links[0].cut()
        await asyncio.sleep(max(scale.pause_s, CUT_S_MIN))
        place.cassandra_links[0].mend()


async def tombstones_met(place: Place, run: Run, scale: Scale, rng: random.Random) -> None:
    """A row of a queue gets more tombstones than a Cassandra read tolerates, and behind them a message that Redis does
    not have. Then Redis is flushed, so that refilling has to read past the tombstones."""
    assert place.ring is not None and place.redis is not None
    await run.reached(0.3)
    bodies = unanswered(run, standard_queues(run)[:1], run.load.messages)
    async with fault(run, "FLUSHALL before a row of tombstones"):
        await place.append(bodies, tombstones=place.ring.tuning.tombstones_max * 101 // 100)
        await redis_says(place.redis, "FLUSHALL")


async def cassandra_killed(place: Place, run: Run, scale: Scale, rng: random.Random) -> None:
    """One node of the ring is killed and restarted."""
    await _killed(place, run, scale, 1)


async def cassandra_majority_killed(place: Place, run: Run, scale: Scale, rng: random.Random) -> None:
    """Two of three nodes are killed, so that there is no quorum and no send can be stored, and restarted. A send of
    unknown outcome may exist only on the third; a quorum sees it once that node has delivered its hints, and then the
    sweep finds it."""
    await _killed(place, run, scale, 2)


async def _killed(place: Place, run: Run, scale: Scale, count: int) -> None:
    assert place.ring is not None
    await run.reached(0.3)
    nodes = place.ring.nodes[-count:]
    async with fault(run, f"Cassandra killed, {count} of {len(place.ring.nodes)}"):
        for node in nodes:
            await asyncio.to_thread(node.kill)
        started_s = time.monotonic()
        await asyncio.sleep(scale.pause_s)
        if count > len(place.ring.nodes) // 2:
            await _a_send_refused(run, started_s)
            run.history.told[REFUSED] = refused(run.history, started_s)
            run.history.closed.append(Fault("no quorum", started_s, time.monotonic()))
        for node in nodes:
            node.launch(place.ring.tuning)
        for node in nodes:
            await asyncio.to_thread(node.wait)


async def _a_send_refused(run: Run, since_s: float) -> None:
    """Waits, for at most REFUSAL_S_MAX, until a send that began then has been refused."""
    give_up_s = time.monotonic() + REFUSAL_S_MAX
    while not refused(run.history, since_s) and time.monotonic() < give_up_s:  # noqa: ASYNC110
        await asyncio.sleep(IDLE_S)


async def disk_full(place: Place, run: Run, scale: Scale, rng: random.Random) -> None:
    """The store's disk is full for a while."""
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
