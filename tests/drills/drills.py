"""The drills, as data: where, what is broken, under which load, and how many duplicates are allowed."""

from __future__ import annotations

from dataclasses import dataclass, field

from tests.drills import faults
from tests.drills.faults import Nemesis
from tests.drills.load import Load
from tests.drills.place import Kind


@dataclass(frozen=True)
class Drill:
    """`duplicates_share` of the messages, and `duplicates_each` a fault, may be worked on twice. `messages`: of the
    long version. `settle_s`: how long after its end a fault still explains a duplicate."""

    name: str
    kind: Kind
    nemesis: Nemesis
    load: Load = field(default_factory=Load)
    duplicates_share: float = 0.001
    duplicates_each: int = 0
    messages: int = 100_000
    nodes: int = 1
    settle_s: float = 5.0
    is_small_disk: bool = False

    def duplicates_max(self, messages: int, faults_count: int) -> int:
        """How many duplicates are within the bounds, counted in whole messages."""
        return int(messages * self.duplicates_share) + self.duplicates_each * faults_count


_IN_FLIGHT = 8 * 10
"""What the readers of a load hold at most."""

DRILLS = (
    Drill("no fault, embedded", Kind.EMBEDDED, faults.nothing, duplicates_share=0, messages=1_000_000),
    Drill("no fault", Kind.REDIS_CASSANDRA, faults.nothing, duplicates_share=0, messages=1_000_000),
    Drill("API node killed, embedded", Kind.EMBEDDED, faults.node_killed, Load(rate=600),
          duplicates_each=_IN_FLIGHT),
    Drill("API node killed", Kind.REDIS_CASSANDRA, faults.node_killed, Load(rate=500), duplicates_each=_IN_FLIGHT),
    Drill("Redis killed, back empty, on sqlite", Kind.REDIS_SQLITE, faults.redis_killed, Load(rate=600),
          duplicates_each=_IN_FLIGHT),
    Drill("Redis killed, back empty", Kind.REDIS_CASSANDRA, faults.redis_killed, Load(rate=500),
          duplicates_each=_IN_FLIGHT),
    Drill("FLUSHALL", Kind.REDIS_CASSANDRA, faults.redis_flushed, Load(rate=500), duplicates_each=_IN_FLIGHT),
    Drill("Redis stopped for a while", Kind.REDIS_CASSANDRA, faults.redis_paused, Load(rate=400),
          duplicates_each=_IN_FLIGHT),
    Drill("Redis cut off, not restarted", Kind.REDIS_CASSANDRA, faults.redis_cut, Load(rate=400),
          duplicates_each=_IN_FLIGHT),
    Drill("Redis at maxmemory", Kind.REDIS_SQLITE, faults.redis_full, Load(rate=400), duplicates_share=0),
    Drill("filler killed while filling", Kind.REDIS_CASSANDRA, faults.filler_killed,
          Load(messages=5_000, readers=2, processing_s=0.05), duplicates_each=20),
    Drill("Cassandra paused", Kind.REDIS_CASSANDRA, faults.cassandra_paused, Load(rate=400),
          duplicates_each=_IN_FLIGHT),
    *(
        Drill(f"drops p = {share:g}", Kind.REDIS_CASSANDRA, faults.drops(share), Load(rate=400, tries=12),
              duplicates_share=1)
        for share in (0.0001, 0.001, 0.01, 0.1)
    ),
    Drill("receivers quit, p = 0.1", Kind.REDIS_SQLITE, faults.nothing, Load(quit_share=0.1), duplicates_share=0),
    Drill("overload × 3", Kind.EMBEDDED, faults.nothing, Load(messages=5_000, writers=48, processing_s=0.02),
          duplicates_share=0),
    Drill("disk full, then not", Kind.EMBEDDED, faults.disk_full, Load(rate=400), duplicates_each=_IN_FLIGHT,
          is_small_disk=True),
)  # fmt: skip
