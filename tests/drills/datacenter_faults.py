"""What happens to data centres. A home stays where it is for 30 s after each change, so these drills take minutes."""

from __future__ import annotations

import asyncio
import random
import time

from deploy.cluster.api_node import ApiNode
from tests.drills.datacenters import NAMES, TwoDatacenters, Watch
from tests.drills.faulting import Nemesis, Scale, fault
from tests.drills.load import Run
from tests.drills.place import Place

LOOK_S = 0.5
HOMES_S_MAX = 90.0
"""For the homes of all queues to follow the traffic."""
STAY_S = 5.0
"""How long traffic stays after all homes have followed it."""
SILENT_S_MAX = 90.0
"""For dc2 to hand out all it has of what dc1 acknowledged: longer than two sightings of the sweep."""
FLUSH_S = 12.0
"""Cassandra writes hints to files, and looks whom it can send them to, every 10 s."""
HINTS_S_MAX = 60.0
TAIL = "in dc1 alone meanwhile"


async def traffic_moved(place: Place, run: Run, scale: Scale, rng: random.Random) -> None:
    """All traffic goes from dc1 to dc2, and when all queues are at home there, back; nothing is stopped."""
    assert isinstance(place, TwoDatacenters)
    await run.reached(0.1)
    for name in reversed(NAMES):
        async with place.watch(name) as watch, fault(run, f"traffic to {name}"):
            place.turn_to(name)
            await _homes_are(watch, name, len(run.urls))
        await asyncio.sleep(STAY_S)


def datacenter_gone(*, is_behind: bool = False, is_each: bool = False) -> Nemesis:
    """dc1 is killed, all of it, and clients go to dc2; when dc2 has nothing more to hand out, dc1 is started again, is
    told what it missed, and gets the clients back. `is_behind`: before that dc2's Cassandra node was down, and dc1 dies
    before it told dc2 what was written meanwhile. `is_each`: both have to have a message before it is acknowledged,
    until the operator sets that back, since dc1 is gone."""

    async def nemesis(place: Place, run: Run, scale: Scale, rng: random.Random) -> None:
        assert isinstance(place, TwoDatacenters)
        near, far = map(place.datacenter, NAMES)
        if is_each:
            await asyncio.gather(*(asyncio.to_thread(_write_to, dc.api, "each") for dc in (near, far)))
        await run.reached(0.1)
        async with fault(run, "dc1 gone"):
            if is_behind:
                await asyncio.to_thread(far.cassandra.kill)
                await far.start_cassandra()
            await near.kill()
            if is_each:
                await asyncio.to_thread(_write_to, far.api, "local")
            place.turn_to(far.name)
            async with place.watch(far.name) as watch:
                await _homes_are(watch, far.name, len(run.urls))
                run.history.told[TAIL] = await _silent(run)
                await near.start_cassandra()
                await _hints_are_gone(watch)
            await near.start_servers()
            place.turn_to(near.name)
            async with place.watch(near.name) as watch:
                await _homes_are(watch, near.name, len(run.urls))

    return nemesis


def _write_to(api: ApiNode, word: str) -> None:
    """Starts the node again with that setting."""
    api.stop()
    api.environment["CQS_CASSANDRA_WRITES"] = word
    api.start()


async def _homes_are(watch: Watch, name: str, count: int) -> None:
    """Returns when that many queues are at home there. Raises TimeoutError."""
    async with asyncio.timeout(HOMES_S_MAX):
        while (await watch.homes())[name] < count:  # noqa: ASYNC110
            await asyncio.sleep(LOOK_S)


async def _silent(run: Run) -> int:
    """How many acknowledged messages nobody was given when all was sent and dc2 had time to find the rest."""
    await run.reached(1.0)
    give_up_s = time.monotonic() + SILENT_S_MAX
    while run.outstanding and time.monotonic() < give_up_s:  # noqa: ASYNC110
        await asyncio.sleep(LOOK_S)
    return run.outstanding


async def _hints_are_gone(watch: Watch) -> None:
    """Returns when what the other data centre missed was sent to it. Raises TimeoutError."""
    await asyncio.sleep(FLUSH_S)
    async with asyncio.timeout(HINTS_S_MAX):
        while await watch.hints():  # noqa: ASYNC110
            await asyncio.sleep(LOOK_S)
