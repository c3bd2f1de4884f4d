"""Faults of data centres. A queue's home can't move again for 30 s, so these drills take minutes."""

from __future__ import annotations

import asyncio
import random
import time

from deploy.cluster.api_node import ApiNode
from tests.drills.datacenters import NAMES, Datacenter, TwoDatacenters, Watch
from tests.drills.faulting import Nemesis, Scale, fault
from tests.drills.history import History
from tests.drills.load import Run
from tests.drills.place import Place

LOOK_S = 0.5
HOMES_S_MAX = 120.0
"""The time limit for the homes of all queues to follow the traffic."""
STAY_S = 5.0
"""How long traffic stays in a data centre after all homes have moved there."""
SILENT_S_MAX = 90.0
"""The time limit for dc2 to deliver all it has of what dc1 acknowledged: the sweep may have to see a message twice."""
HINTS_S_MAX = 120.0
"""Cassandra flushes hints to files, and looks for files to deliver and to finish, every 10 s each: three rounds."""
TAIL = "in dc1 alone meanwhile"
ALONE = "deleted in dc1 alone"
"""The most messages that may reappear: those that wait when dc2's Cassandra node dies, and those whose send dc1 has
told dc2 by a hint, but not their delete. The slower the machine, the more."""


async def traffic_moved(place: Place, run: Run, scale: Scale, rng: random.Random) -> None:
    """All traffic moves from dc1 to dc2 and, once all queues have their home there, back. Nothing is stopped."""
    assert isinstance(place, TwoDatacenters)
    await run.reached(0.1)
    for name in reversed(NAMES):
        async with place.watch(name) as watch, fault(run, f"traffic to {name}"):
            place.turn_to(name)
            await _homes_are(watch, name, len(run.urls))
        await asyncio.sleep(STAY_S)


def datacenter_gone(*, is_behind: bool = False, is_each: bool = False) -> Nemesis:
    """All of dc1 is killed and clients go to dc2. When dc2 has no more to deliver, dc1 is restarted, receives the hints
    for what it missed, and gets the clients back. `is_behind`: dc2's Cassandra node was down before, and dc1 dies
    before it has sent dc2 the hints. `is_each`: a message is acknowledged only once both data centres have it, until
    the operator changes that because dc1 is gone."""

    async def nemesis(place: Place, run: Run, scale: Scale, rng: random.Random) -> None:
        assert isinstance(place, TwoDatacenters)
        near, far = map(place.datacenter, NAMES)
        if is_each:
            await asyncio.gather(*(asyncio.to_thread(_write_to, dc.api, "each") for dc in (near, far)))
        await run.reached(0.1)
        async with fault(run, "dc1 gone"):
            if is_behind:
                await asyncio.to_thread(far.cassandra.kill)
                killed_s = time.monotonic()
                await far.start_cassandra()
            await near.kill()
            if is_behind:
                run.history.told[ALONE] = _deleted(run.history, killed_s)
            if is_each:
                await asyncio.to_thread(_write_to, far.api, "local")
            place.turn_to(far.name)
            async with place.watch(far.name) as watch:
                await _homes_are(watch, far.name, len(run.urls))
                run.history.told[TAIL] = await _silent(run)
                await watch.mark()
            await near.start_cassandra()
            async with place.watch(near.name) as watch:
                await _is_told(watch, far)
                await near.start_servers()
                place.turn_to(near.name)
                await _homes_are(watch, near.name, len(run.urls))

    return nemesis


def _deleted(history: History, since_s: float) -> int:
    """Counts the messages that were deleted since then."""
    return len({(one.queue, one.message_id) for one in history.deletes if one.ended_s > since_s})


def _write_to(api: ApiNode, word: str) -> None:
    """Restarts the node with CQS_CASSANDRA_WRITES set to `word`."""
    api.stop()
    api.environment["CQS_CASSANDRA_WRITES"] = word
    api.start()


async def _homes_are(watch: Watch, name: str, count: int) -> None:
    """Waits until that many queues have their home there. Raises TimeoutError."""
    async with asyncio.timeout(HOMES_S_MAX):
        while (await watch.homes())[name] < count:  # noqa: ASYNC110
            await asyncio.sleep(LOOK_S)


async def _silent(run: Run) -> int:
    """Counts acknowledged messages that were never delivered although all were sent and dc2 had time to find them."""
    await run.reached(1.0)
    give_up_s = time.monotonic() + SILENT_S_MAX
    while run.outstanding and time.monotonic() < give_up_s:  # noqa: ASYNC110
        await asyncio.sleep(LOOK_S)
    return run.outstanding


async def _is_told(near: Watch, far: Datacenter) -> None:
    """Waits until this data centre has all that it missed before `Watch.mark`. Raises TimeoutError."""
    async with asyncio.timeout(HINTS_S_MAX):
        while not await near.is_marked() or far.has_hints:  # noqa: ASYNC110
            await asyncio.sleep(LOOK_S)
