"""Performs a drill: its verdict, its figures, and which guarantees were broken."""

from __future__ import annotations

import asyncio
import os
import random
import statistics
import time
from dataclasses import dataclass
from math import inf

from tests.cassandra_server import Ring
from tests.drills.datacenter_faults import ALONE, TAIL
from tests.drills.datacenters import TwoDatacenters
from tests.drills.drills import Drill
from tests.drills.faulting import LONG, SHORT
from tests.drills.history import Call, History
from tests.drills.load import Run
from tests.drills.memory import GROWN, GROWN_MAX
from tests.drills.place import Kind, Place
from tests.drills.refusals import REFUSED_S_MAX, faulty
from tests.drills.verdict import Cause, Verdict, judge, recovery_s

SWEEP_S = 180.0
REST = "s more until the sweep had found the rest"


@dataclass
class Result:
    """`broken`: the broken guarantees, in words; [] = the drill passed. `wrong`: these, and the messages concerned."""

    drill: Drill
    is_long: bool
    seed: int
    run: Run
    verdict: Verdict
    duration_s: float

    @property
    def history(self) -> History:
        return self.run.history

    @property
    def duplicates_max(self) -> int:
        return self.drill.duplicates_max(self.verdict.attempted, len(self.history.faults))

    @property
    def _bounded(self) -> int:
        """Duplicates that count against the bound. A short version shares two cores with all other tests, so without a
        fault calls may time out, and a reader may come to its deletes after its leases: the duplicates this causes
        (`copy`, `delete`, `late`) are reported but not bounded."""
        causes = self.verdict.causes
        slow = () if self.is_long else (Cause.COPY, Cause.DELETE, Cause.LATE)
        return self.verdict.duplicated - sum(causes[cause] for cause in slow)

    @property
    def _resurrected_max(self) -> int:
        if not self.drill.is_replica_lost:
            return 0
        return max(self.duplicates_max, self.history.told.get(ALONE, 0))

    @property
    def broken(self) -> list[str]:
        verdict, refused_s_max = self.verdict, REFUSED_S_MAX if self.is_long else inf
        bounds = {
            "lost": (verdict.lost, 0),
            "unexpected": (verdict.unexpected, 0),
            "resurrected": (verdict.resurrected, self._resurrected_max),
            "stuck": (verdict.stuck, 0),
            "hidden too short": (verdict.hidden_too_short, 0),
            "miscounted": (verdict.miscounted, 0),
            "overdue": (verdict.overdue, 0),
            "out of order": (verdict.out_of_order, 0),
            "groups shared": (verdict.shared_groups, 0),
            "duplicated": (self._bounded, self.duplicates_max),
            "duplicated and not explained": (verdict.causes[Cause.UNEXPLAINED], 0),
            GROWN: (self.history.told.get(GROWN, 0), GROWN_MAX),
            **{name: (count, 0) for name, count in faulty(self.history, refused_s_max).items()},
            TAIL: (self.history.told.get(TAIL, 0), verdict.attempted if self.drill.is_replica_lost else 0),
        }
        return [f"{count} {name}, at most {most}" for name, (count, most) in bounds.items() if count > most]

    @property
    def wrong(self) -> list[str]:
        return self.broken + self.verdict.problems if self.broken else []

    @property
    def _writes(self) -> list[Call]:
        return [call for call in self.history.calls if call.action in ("SendMessageBatch", "DeleteMessageBatch")]

    def percentiles_ms(self) -> tuple[float, float]:
        """p50 and p99 of the sends and deletes that succeeded; 0.0 if fewer than two did."""
        took_ms = [(call.ended_s - call.started_s) * 1000 for call in self._writes if call.is_done]
        if len(took_ms) < 2:
            return 0.0, 0.0
        cuts = statistics.quantiles(took_ms, n=100)
        return cuts[49], cuts[98]

    def slowest_s(self) -> float:
        """The longest attempt of a send or delete, refused ones included."""
        return max((call.ended_s - call.started_s for call in self._writes), default=0.0)

    def recovery_s(self) -> float:
        return recovery_s(self.history)

    def __str__(self) -> str:
        verdict, (p50_ms, p99_ms) = self.verdict, self.percentiles_ms()
        causes = ", ".join(f"{cause} {count}" for cause, count in sorted(verdict.causes.items())) or "none"
        failed = sum(not call.is_done for call in self.history.calls)
        told = "".join(f", {what} {count}" for what, count in self.history.told.items())
        return (
            f"{self.drill.name}: seed {self.seed}, {self.duration_s:.1f} s, attempted {verdict.attempted}, "
            f"acknowledged {verdict.acknowledged}, lost {verdict.lost}, duplicated {verdict.duplicated} ({causes}), "
            f"redelivered {verdict.redelivered}, recovered {verdict.recovered}, resurrected {verdict.resurrected}, "
            f"stuck {verdict.stuck}, out of order {verdict.out_of_order}, faults {len(self.history.faults)}, "
            f"failed calls {failed}, p50 {p50_ms:.1f} ms, p99 {p99_ms:.1f} ms, slowest {self.slowest_s():.2f} s, "
            f"recovery {self.recovery_s():.2f} s{told}"
        )


def why_not(drill: Drill) -> str:
    """Why this machine can't run the drill; "" = it can."""
    if drill.is_small_disk and os.geteuid() != 0:
        return "mounts a small disk, which only root may"
    if drill.needs is not None and not drill.needs.exists():
        return f"needs {drill.needs}: apt-get install libfaketime"
    return ""


def _place_of(drill: Drill, rng: random.Random, ring: Ring | None) -> Place:
    if drill.kind is Kind.TWO_DATACENTERS:
        assert ring is not None
        return TwoDatacenters(rng, ring)
    return Place(
        drill.kind,
        rng,
        nodes=drill.nodes,
        ring=ring,
        is_small_disk=drill.is_small_disk,
        is_linked=drill.is_linked,
        is_balanced=drill.is_balanced,
        servers=drill.servers,
        flags=drill.flags,
    )


async def perform(drill: Drill, seed: int, *, ring: Ring | None = None, messages: int = 0) -> Result:
    """Performs the drill. `messages` > 0: the long version with that many messages."""
    rng = random.Random(seed)
    load, scale = (drill.load.larger(messages), LONG) if messages else (drill.load, SHORT)
    started_s = time.monotonic()
    async with _place_of(drill, rng, ring) as place:
        run = Run(load, place.ports, rng.getrandbits(32))
        await run.create()
        reading = asyncio.ensure_future(run.read())
        try:
            await asyncio.gather(run.write(), drill.nemesis(place, run, scale, rng))
            await run.finish()
            await reading
        finally:
            reading.cancel()
        if place.ring is not None and not run.outstanding:
            await _find_the_rest(place, run)
        await place.stop_nodes()
        run.history.left = await place.rows_left(list(run.urls))
    verdict = judge(run.history, drill.settle_s, drill.fifo_copies)
    return Result(drill, bool(messages), seed, run, verdict, time.monotonic() - started_s)


async def _find_the_rest(place: Place, run: Run) -> None:
    """Polls for messages the store still has, until it has none or SWEEP_S have passed. All acknowledged messages were
    deleted before, so these are sends without a response: a node was killed between store and Redis, or only a minority
    of the replicas has them until hints are delivered. Only the sweep finds them: soon after a node was killed,
    otherwise when it sees them a second time, 60 s after a pass that may have just missed them (docs/operations.md)."""
    names, began_s = list(run.urls), time.monotonic()
    while time.monotonic() - began_s < SWEEP_S and any((await place.rows_left(names)).values()):
        await run.ask_all()
        run.history.told[REST] = round(time.monotonic() - began_s)
