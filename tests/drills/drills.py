"""The drills, as data: the place, the fault, the load, and how many duplicates are allowed."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from tests.drills import datacenter_faults, faults, node_faults, redis_faults, store_faults
from tests.drills.faulting import Nemesis
from tests.drills.load import BATCH, Load
from tests.drills.place import Kind


@dataclass(frozen=True)
class Drill:
    """`duplicates_share` of the messages, plus `duplicates_each` per fault, may be processed twice. `messages`: of the
    long version. `settle_s`: how long after its end a fault still explains a duplicate. `is_replica_lost`: writes,
    deletes among them, that only the lost replica has are missing meanwhile; messages that reappear because of that
    count as duplicates."""

    name: str
    kind: Kind
    nemesis: Nemesis
    load: Load = field(default_factory=Load)
    duplicates_share: float = 0.001
    duplicates_each: int = 0
    messages: int = 100_000
    nodes: int = 1
    settle_s: float = 5.0
    is_replica_lost: bool = False
    fifo_copies: int = 1
    """How many messages one FIFO send may create if the outcome of an attempt is unknown: 2 if a data centre dies
    before it has replicated the attempt and its deduplication id to the other one (docs/operations.md)."""
    is_small_disk: bool = False
    is_linked: bool = True
    is_balanced: bool = False
    """Each call goes to the next node, as behind a load balancer. Otherwise a client stays with a node until a call
    fails, and none returns to a restarted one."""
    servers: int = 1
    """How many Redis servers the nodes use from the start."""
    flags: tuple[str, ...] = ()
    """Further arguments of `cqs serve`."""
    needs: Path | None = None
    """A file the drill requires; without it the drill is skipped."""
    is_apart: bool = False
    """Runs only in `make drills`. "dc1 gone, then back" is part of "dc1 gone, its last writes not copied, then back".
    Each fault of "random mix" has a drill, and next to other tests the effects of several may outlast `settle_s`."""

    def duplicates_max(self, messages: int, faults_count: int) -> int:
        """How many duplicates are allowed, in messages. Below SHARE_MESSAGES_MIN, a share of 0.1 % or more allows at
        least one response (BATCH messages) per fault: a fault may lose the leases of one response that were not written
        yet, which can exceed that share of so few messages."""
        share = int(messages * self.duplicates_share)
        if messages < SHARE_MESSAGES_MIN and self.duplicates_share >= LEASES_SHARE:
            share = max(share, BATCH * max(1, faults_count))
        return share + self.duplicates_each * faults_count


SHARE_MESSAGES_MIN = 10_000
"""From this many messages, a share is no longer raised to one response per fault."""
LEASES_SHARE = 0.001
"""The share of duplicates allowed for leases that were not written yet."""
_IN_FLIGHT = 8 * BATCH
"""The most messages the readers of a load hold: the most duplicates if a node dies or the store can't take deletes."""
_COPIES = 1.0
"""For drills in which writes time out for seconds, with only some replicas written: each retry of a send may then
create another message, as in SQS after a 5xx. The bound is not a share but the number of unanswered attempts of each
message (`tests.drills.verdict`)."""
_TWO_DATACENTERS = Load(messages=4_000, rate=60, hidden_s=10, processing_s=0.045, drain_s_max=180, tries=16)

DRILLS = (
    Drill("no fault, embedded", Kind.EMBEDDED, faults.nothing, duplicates_share=0, messages=1_000_000),
    Drill("API node killed, embedded", Kind.EMBEDDED, node_faults.node_killed, Load(rate=600),
          duplicates_share=0, duplicates_each=_IN_FLIGHT),
    Drill("Redis killed, back empty, on sqlite", Kind.REDIS_SQLITE, redis_faults.redis_killed, Load(rate=600)),
    Drill("Redis killed, back empty", Kind.REDIS_CASSANDRA, redis_faults.redis_killed, Load(rate=500)),
    Drill("FLUSHALL", Kind.REDIS_CASSANDRA, redis_faults.redis_flushed, Load(rate=500)),
    Drill("Redis stopped for a while", Kind.REDIS_CASSANDRA, redis_faults.redis_paused, Load(rate=400)),
    Drill("Redis cut off, not restarted", Kind.REDIS_CASSANDRA, redis_faults.redis_cut, Load(rate=400)),
    Drill("Redis at maxmemory", Kind.REDIS_SQLITE, redis_faults.redis_full, Load(rate=400), duplicates_share=0),
    Drill("filler killed while filling", Kind.REDIS_CASSANDRA, node_faults.filler_killed,
          Load(messages=5_000, readers=4, processing_s=0.03)),
    Drill("Cassandra paused", Kind.REDIS_CASSANDRA, store_faults.cassandra_paused,
          Load(rate=400, hidden_s=10)),
    Drill("more tombstones in a row than Cassandra reads", Kind.REDIS_CASSANDRA, store_faults.tombstones_met,
          Load(rate=400)),
    Drill("drops p = 0.0001", Kind.REDIS_CASSANDRA, faults.drops(0.0001), Load(rate=400), duplicates_share=_COPIES),
    Drill("drops p = 0.001", Kind.REDIS_CASSANDRA, faults.drops(0.001), Load(rate=400), duplicates_share=_COPIES),
    Drill("drops p = 0.01", Kind.REDIS_CASSANDRA, faults.drops(0.01), Load(messages=800, rate=400),
          duplicates_share=_COPIES, messages=20_000),
    Drill("drops p = 0.1", Kind.REDIS_CASSANDRA, faults.drops(0.1), Load(messages=100, tries=3),
          duplicates_share=_COPIES, messages=500),
    Drill("connections of clients cut, p = 0.02", Kind.EMBEDDED, faults.clients_cut(0.02), Load(rate=600),
          duplicates_share=_COPIES),
    Drill("receivers quit, p = 0.1", Kind.REDIS_SQLITE, faults.nothing, Load(quit_share=0.1), duplicates_share=0),
    Drill("overload × 3", Kind.EMBEDDED, faults.overloaded,
          Load(writers=48, readers=4, processing_s=0.045, tries=16), duplicates_share=0,
          flags=("--request-rate", "200", "--request-burst", "20")),
    Drill("disk full, then not", Kind.EMBEDDED, store_faults.disk_full, Load(rate=400),
          is_small_disk=True),
    Drill("no fault, 2 nodes", Kind.REDIS_CASSANDRA, faults.nothing, Load(messages=10_000), duplicates_share=0,
          messages=1_000_000, nodes=2),
    Drill("API node killed, 2 nodes", Kind.REDIS_CASSANDRA, node_faults.node_killed, Load(rate=400),
          duplicates_share=0, duplicates_each=_IN_FLIGHT, nodes=2),
    Drill("API node killed between store and Redis, 2 nodes", Kind.REDIS_CASSANDRA, node_faults.node_killed_halfway,
          Load(rate=400), duplicates_share=0, duplicates_each=_IN_FLIGHT, nodes=2),
    Drill("MTTF 10 s, MTTR 10 s, 2 nodes", Kind.REDIS_CASSANDRA, node_faults.killed_at_random(10),
          Load(rate=200, tries=16), duplicates_share=0, duplicates_each=_IN_FLIGHT, nodes=2),
    Drill("MTTF 100 s, MTTR 10 s, 2 nodes", Kind.REDIS_CASSANDRA, node_faults.killed_at_random(100),
          Load(messages=4_000, rate=100, tries=16), duplicates_share=0, duplicates_each=_IN_FLIGHT, nodes=2),
    Drill("API node paused, 2 nodes", Kind.REDIS_CASSANDRA, node_faults.node_paused, Load(rate=400),
          duplicates_share=0, duplicates_each=_IN_FLIGHT, nodes=2),
    Drill("rolling restart, 2 nodes", Kind.REDIS_CASSANDRA, node_faults.rolling_restart, Load(rate=400),
          duplicates_share=0.000001, messages=1_000_000, nodes=2),
    Drill("Redis killed, back empty, 2 nodes", Kind.REDIS_CASSANDRA, redis_faults.redis_killed, Load(rate=400),
          nodes=2),
    Drill("Redis cut off from one of 2 nodes", Kind.REDIS_CASSANDRA, redis_faults.redis_cut_from_one, Load(rate=400),
          nodes=2),
    Drill("Cassandra cut off from one of 2 nodes", Kind.REDIS_CASSANDRA, store_faults.cassandra_cut_from_one,
          Load(rate=400, tries=16), duplicates_share=_COPIES, nodes=2),
    Drill("Redis server added, 2 nodes", Kind.REDIS_CASSANDRA, redis_faults.redis_added, Load(rate=400), nodes=2,
          is_linked=False),
    Drill("Redis server replaced, 2 nodes", Kind.REDIS_CASSANDRA, redis_faults.redis_replaced,
          Load(rate=400, hidden_s=4), nodes=2, is_linked=False, is_balanced=True),
    Drill("Redis exchanged for an empty server and an older copy, 2 nodes", Kind.REDIS_CASSANDRA,
          redis_faults.redis_exchanged, Load(rate=400, hidden_s=4), nodes=2, is_balanced=True),
    Drill("one of two Redis servers gone for good, 2 nodes", Kind.REDIS_CASSANDRA, redis_faults.redis_gone,
          Load(messages=1_200, rate=100), nodes=2, is_linked=False, servers=2),
    Drill("clock of one of 2 nodes + 1 h", Kind.REDIS_CASSANDRA, node_faults.clock_off("+1h"), Load(rate=300),
          duplicates_share=0, nodes=2, needs=node_faults.FAKETIME),
    Drill("clock of one of 2 nodes - 1 h", Kind.REDIS_CASSANDRA, node_faults.clock_off("-1h"), Load(rate=300),
          duplicates_share=0, nodes=2, needs=node_faults.FAKETIME),
    Drill("random mix, 2 nodes", Kind.REDIS_CASSANDRA, faults.mixed, Load(rate=200), duplicates_share=0.1,
          duplicates_each=_IN_FLIGHT, nodes=2, is_apart=True),
    Drill("one Cassandra node of three killed", Kind.RING, store_faults.cassandra_killed, Load(rate=200), nodes=2),
    Drill("all three Cassandra nodes paused 5 s", Kind.RING, store_faults.ring_paused,
          Load(rate=200, hidden_s=10), nodes=2),
    Drill("two Cassandra nodes of three killed", Kind.RING, store_faults.cassandra_majority_killed,
          Load(messages=1_000, rate=100, tries=64), duplicates_share=_COPIES, nodes=2),
    Drill("traffic moved to dc2 and back", Kind.TWO_DATACENTERS, datacenter_faults.traffic_moved, _TWO_DATACENTERS,
          duplicates_share=0.01, messages=20_000, nodes=2),
    Drill("dc1 gone, then back", Kind.TWO_DATACENTERS, datacenter_faults.datacenter_gone(),
          _TWO_DATACENTERS, duplicates_share=0.01, messages=20_000, nodes=2, is_replica_lost=True, fifo_copies=2,
          is_apart=True),
    Drill("dc1 gone, its last writes not copied, then back", Kind.TWO_DATACENTERS,
          datacenter_faults.datacenter_gone(is_behind=True), _TWO_DATACENTERS, duplicates_share=0.01, messages=20_000,
          nodes=2, is_replica_lost=True, fifo_copies=2),
    Drill("the same with cassandra_writes = each", Kind.TWO_DATACENTERS,
          datacenter_faults.datacenter_gone(is_behind=True, is_each=True), _TWO_DATACENTERS, duplicates_share=_COPIES,
          messages=20_000, nodes=2, fifo_copies=2),
)  # fmt: skip
