"""Faults of no single part: none at all, dropped connections, and a random mix."""

from __future__ import annotations

import asyncio
import random

from tests.drills import node_faults, redis_faults, store_faults
from tests.drills.faulting import Nemesis, Scale, fault
from tests.drills.link import End
from tests.drills.load import Run
from tests.drills.place import Place
from tests.drills.refusals import THROTTLED, throttled

_MIXED: tuple[Nemesis, ...] = (
    node_faults.node_killed,
    node_faults.node_paused,
    redis_faults.redis_killed,
    redis_faults.redis_flushed,
    redis_faults.redis_paused,
    redis_faults.redis_cut,
    redis_faults.redis_cut_from_one,
    redis_faults.redis_full,
    store_faults.cassandra_paused,
)


async def nothing(place: Place, run: Run, scale: Scale, rng: random.Random) -> None:
    """Injects no fault."""


def drops(share: float) -> Nemesis:
    """Drops chunks of bytes to and from Redis and Cassandra, and their connections, throughout the drill."""

    async def nemesis(place: Place, run: Run, scale: Scale, rng: random.Random) -> None:
        links = [*place.redis_links, *place.cassandra_links]
        async with fault(run, f"drops {share:g}"):
            for link in links:
                link.drop_share = share
            await run.reached(1.0)
            for link in links:
                link.drop_share = 0.0

    return nemesis


def clients_cut(share: float) -> Nemesis:
    """Like `drops`, between the clients and the nodes: requests or responses are lost."""

    async def nemesis(place: Place, run: Run, scale: Scale, rng: random.Random) -> None:
        ends = [End(host="127.0.0.1", port=node.port) for node in place.nodes]
        links = [await place.linked(End(host="127.0.0.1"), end) for end in ends]
        place.client_links = links
        async with fault(run, f"clients cut off {share:g}"):
            for link in links:
                link.drop_share = share
            await run.reached(1.0)
            for link in links:
                link.drop_share = 0.0

    return nemesis


async def overloaded(place: Place, run: Run, scale: Scale, rng: random.Random) -> None:
    """The writers alone are the fault: they send more than the nodes accept. Afterwards the readers have less to do
    than that."""
    async with fault(run, "overload"):
        await run.reached(1.0)
        run.history.told[THROTTLED] = throttled(run.history)


async def mixed(place: Place, run: Run, scale: Scale, rng: random.Random) -> None:
    """Runs faults one after the other, chosen at random from the seed."""
    assert place.redis is not None
    for _ in range(2 * scale.rounds):
        await asyncio.sleep(rng.uniform(0.2, scale.pause_s / 2))
        await rng.choice(_MIXED)(place, run, Scale(1, rng.uniform(0.1, scale.pause_s)), rng)
