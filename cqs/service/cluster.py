"""This node among the others, in one value: what it agrees with them on, and what it knows of them.

A server that keeps its messages in a file of its own is alone: it leads for ever, nobody else changes a queue, and none
of the work between nodes is ever done.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field

from cqs.cache.interface import Shard
from cqs.clock import Clock, SystemClock
from cqs.cluster.token_buckets import TokenBuckets
from cqs.queue import Queue
from cqs.service.homes import Homes
from cqs.service.leadership import Leadership, loop_s
from cqs.service.membership import Listed, Membership
from cqs.store.coordination import Coordination, MemoryCluster, MemoryCoordination, News, Node
from cqs.store.interface import Stored

LEADER, OPENER = "cluster", "opening"
LOOKUPS_A_SECOND, LOOKUPS_BURST = 100, 200
"""Names that this node does not know, looked up in the store."""


Scan = Callable[[Queue], AsyncIterator[list[Stored]]]


async def _nothing(_: Queue) -> AsyncIterator[list[Stored]]:
    pages: list[list[Stored]] = []
    for page in pages:
        yield page


def _one_place(_: Shard) -> str:
    return ""


@dataclass(frozen=True, slots=True)
class Cluster:
    """Belongs to one event loop."""

    coordination: Coordination
    membership: Membership
    leadership: Leadership
    opening: Leadership
    """The lease of the node that starts when no other one serves."""
    tending: Leadership
    """The lease of the node that looks after the caches of its data centre."""
    is_alone: bool = False
    is_cache_shared: bool = True
    """All nodes have one cache, as they must."""
    homes: Homes | None = None
    """None = the store has one data centre."""
    far: Sequence[str] = ()
    """The other data centres that the store is in."""
    place: Callable[[Shard], str] = _one_place
    """The cache server that a shard lives on."""
    short: Callable[[], Sequence[str]] = tuple
    """The cache servers that have no room, or hardly any."""
    deep_scan: Scan = _nothing
    """All messages of a queue in the store, also those that its marks hide."""
    lookups: TokenBuckets = field(default_factory=lambda: TokenBuckets(LOOKUPS_A_SECOND, LOOKUPS_BURST))
    unsaid: list[News] = field(default_factory=list)
    """What the others have yet to be told."""
    unheard: list[News | None] = field(default_factory=list)
    """What was heard and is not applied yet; None = more than is known."""

    @property
    def name(self) -> str:
        return self.membership.me.name

    @property
    def datacenter(self) -> str:
        """This node's; "" = the store has one."""
        return self.homes.datacenter if self.homes is not None else ""

    async def nodes(self) -> Sequence[Node]:
        """Those that live, as of the last beat."""
        return self.membership.nodes

    async def far_nodes(self) -> dict[str, Sequence[Node]]:
        """Those that live in each other data centre, as the store has heard here by now. Raises StoreUnavailable."""
        return {datacenter: await self.coordination.nodes(datacenter) for datacenter in self.far}

    async def leave(self) -> None:
        """This node ends. Raises StoreUnavailable, OutcomeUnknown."""
        if not self.is_alone:
            await self.leadership.resign()
            await self.tending.resign()
            await self.membership.leave()


def alone(
    clock: Clock | None = None,
    *,
    place: Callable[[Shard], str] = _one_place,
    short: Callable[[], Sequence[str]] = tuple,
) -> Cluster:
    """The cluster of a node that has no others."""
    clock = clock or SystemClock()
    coordination = MemoryCoordination(MemoryCluster(clock))
    me = Node(name="alone", started_ms=clock.now_ms(), beat_ms=clock.now_ms(), is_open=True)
    leadership = Leadership(coordination, LEADER, me.name).hold_forever()
    return Cluster(
        coordination,
        Membership(coordination, clock, me),
        leadership=leadership,
        opening=Leadership(coordination, OPENER, me.name),
        tending=leadership,
        is_alone=True,
        place=place,
        short=short,
    )


def joined(
    coordination: Coordination,
    clock: Clock,
    me: Node,
    life: str,
    *,
    datacenter: str = "",
    far: Sequence[str] = (),
    is_cache_shared: bool = True,
    place: Callable[[Shard], str] = _one_place,
    lost: Callable[[], Sequence[str]] = tuple,
    listed: Listed | None = None,
    short: Callable[[], Sequence[str]] = tuple,
    deep_scan: Scan = _nothing,
    now_s: Callable[[], float] = loop_s,
) -> Cluster:
    """A node among others; `life` tells it from its former self. `datacenter`: this node's, "" = there is one;
    `far`: the others."""
    holder = f"{datacenter} {me.name} {life}".strip()
    leadership = Leadership(coordination, LEADER, holder, now_s)
    return Cluster(
        coordination,
        Membership(coordination, clock, me, lost, listed),
        leadership=leadership,
        opening=Leadership(coordination, f"{OPENER} {datacenter}".strip(), holder, now_s),
        tending=Leadership(coordination, f"caches {datacenter}", holder, now_s) if datacenter else leadership,
        homes=Homes(coordination, clock, datacenter, me.name) if datacenter else None,
        far=far,
        is_cache_shared=is_cache_shared,
        place=place,
        short=short,
        deep_scan=deep_scan,
    )
