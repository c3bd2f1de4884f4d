"""What is broken on purpose, and when: at shares of the load that was sent, so that a fault always meets a busy server.

Each fault is a coroutine over the place and the run, which notes from when to when something was broken. They stand in
`redis_faults`, `node_faults` and `store_faults`.
"""

from __future__ import annotations

import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from tests.drills.history import Fault
from tests.drills.load import Run
from tests.drills.place import Place


@dataclass(frozen=True)
class Scale:
    """`rounds`: how often; `pause_s`: how long something stands still."""

    rounds: int
    pause_s: float


SHORT, LONG = Scale(rounds=2, pause_s=2.0), Scale(rounds=12, pause_s=10.0)

Nemesis = Callable[[Place, Run, Scale, random.Random], Awaitable[None]]


@asynccontextmanager
async def fault(run: Run, name: str) -> AsyncIterator[None]:
    started_s = time.monotonic()
    try:
        yield
    finally:
        run.history.faults.append(Fault(name, started_s, time.monotonic()))


async def rounds(run: Run, scale: Scale) -> AsyncIterator[int]:
    """Spread over the load."""
    for number in range(scale.rounds):
        await run.reached((number + 0.7) / (scale.rounds + 1))
        yield number
