"""This node's view of its cluster in one value: its leases and the other members.

A server that keeps its messages in a file of its own is alone: it is always the leader, no other node changes a queue,
and no work between nodes is done.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from cqs.cache.interface import Shard
from cqs.clock import Clock, SystemClock
from cqs.cluster.token_buckets import TokenBuckets
from cqs.message import Message
from cqs.queue import Queue
from cqs.service.hearing import Hearing
from cqs.service.homes import Homes
from cqs.service.leadership import Leadership, loop_s
from cqs.service.lists import Listed
from cqs.service.membership import Membership
from cqs.store.coordination import Coordination, MemoryCluster, MemoryCoordination, News, Node, youngest
from cqs.store.interface import Stored

LEADER, OPENER = "cluster", "opening"
LOOKUPS_A_SECOND, LOOKUPS_BURST = 100, 200
"""Lookups in the store of names that this node does not know."""


Scan = Callable[[Queue], AsyncIterator[list[Stored]]]
Certain = Callable[[Queue, Sequence[int]], Awaitable[set[int]]]
Seek = Callable[[Queue, Sequence[int]], Awaitable[list[Message]]]


async def _nothing(_: Queue) -> AsyncIterator[list[Stored]]:
    pages: list[list[Stored]] = []
    for page in pages:
        yield page


async def _all(_: Queue, addresses: Sequence[int]) -> set[int]:
    return set(addresses)


async def _no_more(_: Queue, __: Sequence[int]) -> list[Message]:
    return []


def _one_place(_: Shard) -> str:
    return ""


@dataclass(frozen=True, slots=True)
class Cluster:
    """Belongs to one event loop."""

    coordination: Coordination
    membership: Membership
    leadership: Leadership
    opening: Leadership
    """The lease of the node that opens when no other node is serving."""
    tending: Leadership
    """The lease of the node that maintains the caches of its data centre."""
    is_alone: bool = False
    is_cache_shared: bool = True
    """All nodes use one cache, as they must."""
    homes: Homes | None = None
    """None = the store has one data centre."""
    far: Sequence[str] = ()
    """The other data centres that the store is in."""
    place: Callable[[Shard], str] = _one_place
    """The cache server that holds a shard."""
    short: Callable[[], Sequence[str]] = tuple
    """The cache servers that have little or no memory left."""
    deep_scan: Scan = _nothing
    """All messages of a queue in the store, including those that its read markers skip."""
    certain: Certain = _all
    """Those of a FIFO queue's messages found in the store that may be handed out. One of unknown outcome may not before
    it is decided that it counts as sent. Raises StoreUnavailable, OutcomeUnknown."""
    seek: Seek = _no_more
    """Messages that count as sent and that `read` did not find because few replicas have them. Never raises."""
    lookups: TokenBuckets = field(default_factory=lambda: TokenBuckets(LOOKUPS_A_SECOND, LOOKUPS_BURST))
    heard: Hearing = field(default_factory=Hearing)
    unsaid: list[News] = field(default_factory=list)
    """News that the other nodes have yet to be sent."""
    unheard: list[News | None] = field(default_factory=list)
    """News that was received but not applied yet; None = some were missed."""

    @property
    def name(self) -> str:
        return self.membership.me.name

    @property
    def datacenter(self) -> str:
        """This node's data centre; "" = the store has only one."""
        return self.homes.datacenter if self.homes is not None else ""

    async def nodes(self) -> Sequence[Node]:
        """The live nodes, as of the last beat."""
        return self.membership.nodes

    async def far_nodes(self) -> dict[str, Sequence[Node]]:
        """The live nodes of each other data centre, as far as replicated to here. Raises StoreUnavailable."""
        return {datacenter: youngest(await self.coordination.nodes(datacenter)) for datacenter in self.far}

    async def leave(self) -> None:
        """This node stops: it gives up its leases and its membership. Raises StoreUnavailable, OutcomeUnknown."""
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
    """The cluster of a node that has no peers."""
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
    certain: Certain = _all,
    seek: Seek = _no_more,
    now_s: Callable[[], float] = loop_s,
) -> Cluster:
    """A node with peers. `life` distinguishes it from its earlier runs. `datacenter`: this node's, "" = there is only
    one; `far`: the others."""
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
        certain=certain,
        seek=seek,
    )
