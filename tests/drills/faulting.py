"""When faults are injected: once a given share of the load has been sent, so that the server is always busy.

Each fault is a coroutine that takes the place and the run and records when its fault began and ended. They are defined
in `faults`, `redis_faults`, `node_faults`, `store_faults` and `datacenter_faults`.
"""

from __future__ import annotations

import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace

from tests.drills.history import Fault
from tests.drills.load import Run
from tests.drills.place import Place


@dataclass(frozen=True)
class Scale:
    """`rounds`: how often a fault is repeated. `pause_s`: how long it lasts."""

    rounds: int
    pause_s: float


SLOW_S = 0.7
SHORT, LONG = Scale(rounds=2, pause_s=2.0), Scale(rounds=12, pause_s=10.0)

Nemesis = Callable[[Place, Run, Scale, random.Random], Awaitable[None]]


@asynccontextmanager
async def fault(run: Run, name: str) -> AsyncIterator[None]:
    started_s = time.monotonic()
    try:
        yield
    finally:
        run.history.faults.append(Fault(name, started_s, time.monotonic()))


@contextmanager
def slow_readers(run: Run) -> Iterator[None]:
    """Meanwhile readers take SLOW_S for each response, so that messages are always waiting and in flight."""
    load = run.load
    run.load = replace(load, processing_s=SLOW_S)
    try:
        yield
    finally:
        run.load = load


async def rounds(run: Run, scale: Scale) -> AsyncIterator[int]:
    """Yields the number of each round, spread evenly over the load."""
    for number in range(scale.rounds):
        await run.reached((number + 0.7) / (scale.rounds + 1))
        yield number
