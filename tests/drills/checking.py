"""Runs drills as tests, in their short versions, except those that others cover (`Drill.is_apart`). `python -m
tests.drills` runs all of them. DRILL_SEED repeats a run's random choices.

On an otherwise idle machine a drill takes 10 to 30 s; the one with the rarest kills takes 50 s, and those with data
centres 2 to 3 minutes, since a queue's home can't move again for 30 s. A drill that waits for messages that never come
takes 60 s more (`Load.drain_s_max`); TIMEOUT_S is large enough that its verdict, not the test timeout, reports that.
"""

from __future__ import annotations

import os
import random
from contextlib import ExitStack
from dataclasses import replace

from tests.cassandra_server import Ring, Tuning
from tests.drills.drills import DRILLS, Drill
from tests.drills.place import RING_OF, Kind
from tests.drills.result import perform, why_not
from tests.needs import absent
from tests.processes import runs

TIMEOUT_S = 480


class Rings:
    """The Cassandra nodes for drills of one kind. They are replaced when a drill of another kind is next, and after a
    failed drill, which may have left them dead."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._ring: Ring | None = None

    def of(self, kind: Kind) -> Ring:
        """Returns running nodes for that kind. Raises CassandraFailed."""
        datacenters = RING_OF[kind]
        if self._ring is None or tuple(node.datacenter for node in self._ring.nodes) != datacenters:
            self.stop()
            tuning = Tuning(is_brief=True)
            if len(set(datacenters)) == 1:
                tuning = replace(tuning, tombstones_max=2_000, is_started_once=len(datacenters) == 1)
            self._ring = self._stack.enter_context(Ring(datacenters, tuning))
        return self._ring

    def stop(self) -> None:
        """Idempotent."""
        self._ring = None
        self._stack.close()


def drills(*kinds: Kind) -> list[Drill]:
    return [drill for drill in DRILLS if drill.kind in kinds and not drill.is_apart]


async def check(drill: Drill, ring: Ring | None = None) -> None:
    """Performs the drill and fails with the seed and the broken guarantees."""
    if why_not(drill):
        absent(drill.name, why_not(drill))
    result = await perform(drill, _seed(), ring=ring)
    print(result)
    assert not result.wrong, f"seed {result.seed}: {'; '.join(result.wrong)}"


async def check_on(drill: Drill, rings: Rings) -> None:
    """Like `check`, on Cassandra nodes, which must all be alive afterwards."""
    ring = rings.of(drill.kind)
    try:
        await check(drill, ring)
        assert all(runs(node.pid) for node in ring.nodes), "the next drill stands on them, too"
    except BaseException:
        rings.stop()
        raise


def _seed() -> int:
    return int(os.environ.get("DRILL_SEED") or random.SystemRandom().randrange(10**9))
