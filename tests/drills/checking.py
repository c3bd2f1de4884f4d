"""Drills as tests: in their short versions, but for those that others contain (`Drill.is_apart`); all of them:
`python -m tests.drills`. DRILL_SEED repeats a run's choices.

On a machine that does nothing else a drill takes 10 to 30 s, the rarest kills 50 s, and what befalls data centres two
to three minutes, since a home stays where it is for half a minute. One that waits for messages that never come takes
the 60 s of `Load.drain_s_max` more, and must then be told by its verdict, not by the time-out of tests (TIMEOUT_S).
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
    """The Cassandra nodes that drills of one kind stand on; those of the next kind take their place, and so do new ones
    when a drill was not passed, which may leave them dead."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._ring: Ring | None = None

    def of(self, kind: Kind) -> Ring:
        """They run. Raises CassandraFailed."""
        datacenters = RING_OF[kind]
        if self._ring is None or tuple(node.datacenter for node in self._ring.nodes) != datacenters:
            self.stop()
            tuning = Tuning(is_brief=True)
            if len(set(datacenters)) == 1:
                tuning = replace(tuning, tombstones_max=2_000)
            self._ring = self._stack.enter_context(Ring(datacenters, tuning))
        return self._ring

    def stop(self) -> None:
        """Idempotent."""
        self._ring = None
        self._stack.close()


def drills(*kinds: Kind) -> list[Drill]:
    return [drill for drill in DRILLS if drill.kind in kinds and not drill.is_apart]


async def check(drill: Drill, ring: Ring | None = None) -> None:
    """Fails with the seed and what was not as promised."""
    if why_not(drill):
        absent(drill.name, why_not(drill))
    result = await perform(drill, _seed(), ring=ring)
    print(result)
    assert not result.wrong, f"seed {result.seed}: {'; '.join(result.wrong)}"


async def check_on(drill: Drill, rings: Rings) -> None:
    """The same on Cassandra nodes, which are to be as they were."""
    ring = rings.of(drill.kind)
    try:
        await check(drill, ring)
        assert all(runs(node.pid) for node in ring.nodes), "the next drill stands on them, too"
    except BaseException:
        rings.stop()
        raise


def _seed() -> int:
    return int(os.environ.get("DRILL_SEED") or random.SystemRandom().randrange(10**9))
