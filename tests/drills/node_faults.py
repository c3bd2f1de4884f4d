"""Faults of API nodes."""

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
from tests.drills.place import Place
from tests.drills.redis_talk import redis_says

FAKETIME = Path("/usr/lib") / f"{platform.machine()}-linux-gnu" / "faketime" / "libfaketime.so.1"


async def node_killed(place: Place, run: Run, scale: Scale, rng: random.Random) -> None:
    """Repeatedly kills a random API node with SIGKILL and restarts it at once."""
    async for _ in rounds(run, scale):
        node = rng.choice(place.nodes)
        async with fault(run, "API node killed"):
            await asyncio.to_thread(node.kill)
            await asyncio.to_thread(node.start)


async def node_killed_halfway(place: Place, run: Run, scale: Scale, rng: random.Random) -> None:
    """Kills one API node after the other with SIGKILL while the store has a message of each standard queue that Redis
    lacks. A random kill hardly ever hits that moment, so the messages are written directly to the store."""
    async for number in rounds(run, scale):
        node = place.nodes[number % len(place.nodes)]
        async with fault(run, "API node killed between store and Redis"):
            await asyncio.to_thread(node.kill)
            await place.append(unanswered(run, standard_queues(run), run.load.messages + number))
            await asyncio.to_thread(node.start)


def standard_queues(run: Run) -> list[str]:
    """Returns the names of the standard queues."""
    return [name for name in run.urls if not name.endswith(".fifo")]


def unanswered(run: Run, names: Sequence[str], number: int) -> dict[str, str]:
    """Records one send without a response to each of the queues. Returns the bodies by queue name."""
    now_s = time.monotonic()
    run.history.sends += [Send(name, number, "", now_s, now_s, "", 1) for name in names]
    return {name: body_of(name, number, run.load.body_bytes) for name in names}


def killed_at_random(mttf_s: float) -> Nemesis:
    """Each node independently runs for `mttf_s` on average and is then down for 10 s, as in BDQS's tests. The short
    version shortens both by the same factor."""

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
    """Pauses an API node, which then continues with stale state."""
    await run.reached(0.3)
    node = rng.choice(place.nodes)
    async with fault(run, "API node paused"):
        node.pause()
        await asyncio.sleep(scale.pause_s)
        node.resume()


async def rolling_restart(place: Place, run: Run, scale: Scale, rng: random.Random) -> None:
    """Restarts one node after the other gracefully."""
    await run.reached(0.3)
    for node in place.nodes:
        async with fault(run, "API node restarted"):
            await asyncio.to_thread(node.stop)
            await asyncio.to_thread(node.start)


def clock_off(by: str) -> Nemesis:
    """The clock of one node jumps by `by`, in libfaketime's notation ("+1h")."""

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
    """After all sends, Redis loses all queues, and a random node is killed while the queues are being refilled."""
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
    """Waits, for at most 5 s, until Redis has any key again: a shard is partly filled."""
    assert place.redis is not None
    give_up_s = time.monotonic() + 5
    while await redis_says(place.redis, "DBSIZE") == b":0\r\n" and time.monotonic() < give_up_s:  # noqa: ASYNC110
        await asyncio.sleep(0.001)
