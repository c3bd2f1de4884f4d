"""What happens to API nodes."""

from __future__ import annotations

import asyncio
import contextlib
import platform
import random
import time
from collections.abc import Sequence
from pathlib import Path

from deploy.cluster.api_node import ApiFailed, ApiNode
from tests.drills.faulting import LONG, Nemesis, Scale, fault, rounds
from tests.drills.history import Send, body_of
from tests.drills.load import Run
from tests.drills.place import Place, redis_says

FAKETIME = Path("/usr/lib") / f"{platform.machine()}-linux-gnu" / "faketime" / "libfaketime.so.1"


async def node_killed(place: Place, run: Run, scale: Scale, rng: random.Random) -> None:
    """kill -9 of an API node, again and again; it is started at once."""
    async for _ in rounds(run, scale):
        node = rng.choice(place.nodes)
        async with fault(run, "API node killed"):
            await asyncio.to_thread(node.kill)
            await asyncio.to_thread(node.start)


async def node_killed_halfway(place: Place, run: Run, scale: Scale, rng: random.Random) -> None:
    """kill -9 of one API node after the other, each in the moment when the store has a message of each standard queue
    and Redis does not: chance hardly ever hits that, so the messages are stored past the nodes."""
    async for number in rounds(run, scale):
        node = place.nodes[number % len(place.nodes)]
        async with fault(run, "API node killed between store and Redis"):
            await asyncio.to_thread(node.kill)
            await place.append(unanswered(run, standard_queues(run), run.load.messages + number))
            await asyncio.to_thread(node.start)


def standard_queues(run: Run) -> list[str]:
    """Their names."""
    return [name for name in run.urls if not name.endswith(".fifo")]


def unanswered(run: Run, names: Sequence[str], number: int) -> dict[str, str]:
    """The body of a message for each of the queues, by its name, of senders that go without an answer."""
    now_s = time.monotonic()
    run.history.sends += [Send(name, number, "", now_s, now_s, "", 1) for name in names]
    return {name: body_of(name, number, run.load.body_bytes) for name in names}


def killed_at_random(mttf_s: float) -> Nemesis:
    """Each node by itself lives for `mttf_s` in the mean and is then down for ten seconds, as in BDQS's tests; in the
    short version both are shorter by the same factor."""

    async def nemesis(place: Place, run: Run, scale: Scale, rng: random.Random) -> None:
        is_over = asyncio.ensure_future(run.reached(1.0))
        mean_s = mttf_s * scale.pause_s / LONG.pause_s

        async def live(node: ApiNode) -> None:
            while not is_over.done():
                await asyncio.wait([is_over], timeout=rng.expovariate(1 / mean_s))
                if is_over.done():
                    return
                async with fault(run, "API node killed"):
                    await asyncio.to_thread(node.kill)
                    await asyncio.sleep(scale.pause_s)
                    await asyncio.to_thread(node.start)

        await asyncio.gather(*map(live, place.nodes))

    return nemesis


async def node_paused(place: Place, run: Run, scale: Scale, rng: random.Random) -> None:
    """An API node stands still, and goes on with what it knew before."""
    await run.reached(0.3)
    node = rng.choice(place.nodes)
    async with fault(run, "API node paused"):
        node.pause()
        await asyncio.sleep(scale.pause_s)
        node.resume()


async def rolling_restart(place: Place, run: Run, scale: Scale, rng: random.Random) -> None:
    """One node after the other ends in order and is started again."""
    await run.reached(0.3)
    for node in place.nodes:
        async with fault(run, "API node restarted"):
            await asyncio.to_thread(node.stop)
            await asyncio.to_thread(node.start)


def clock_off(by: str) -> Nemesis:
    """The clock of one node jumps, as libfaketime spells it ("+1h")."""

    async def nemesis(place: Place, run: Run, scale: Scale, rng: random.Random) -> None:
        await run.reached(0.3)
        node = place.nodes[-1]
        async with fault(run, f"clock {by}"):
            await asyncio.to_thread(node.stop)
            node.environment |= {"LD_PRELOAD": str(FAKETIME), "FAKETIME": by, "FAKETIME_DONT_FAKE_MONOTONIC": "1"}
            with contextlib.suppress(ApiFailed):
                await asyncio.to_thread(node.start)
            await run.reached(0.8)
            await asyncio.to_thread(node.stop)
            node.environment.clear()
            await asyncio.to_thread(node.start)

    return nemesis


async def filler_killed(place: Place, run: Run, scale: Scale, rng: random.Random) -> None:
    """Redis forgets all queues when everything was sent, and the node that fills them again is killed while it does."""
    assert place.redis is not None
    await run.reached(1.0)
    for _ in range(min(scale.rounds, 3)):
        async with fault(run, "filler killed"):
            await redis_says(place.redis, "FLUSHALL")
            await _filling(place)
            node = rng.choice(place.nodes)
            await asyncio.to_thread(node.kill)
            await asyncio.to_thread(node.start)


async def _filling(place: Place) -> None:
    """Returns as soon as a shard is in Redis again, in part."""
    assert place.redis is not None
    give_up_s = time.monotonic() + 5
    while await redis_says(place.redis, "DBSIZE") == b":0\r\n" and time.monotonic() < give_up_s:  # noqa: ASYNC110
        await asyncio.sleep(0.001)
