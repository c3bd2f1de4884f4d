"""What the nodes of a cluster agree on through the store: membership, leadership, homes of queues, dirty marks.

    beat ──► nodes                              lead ──► one holder per name, until its lease ends
    mark_dirty ──► dirty_marks ──► repaired     take_home: conditional, epoch + 1
    announce ──► news, at every node            who changed what

None of this is on a message's path. Leases end by the store's clock. A holder counts from BEFORE it asked, on its own
monotonic clock, and stops when `ttl_ms` has passed, so it always stops before its lease ends. Calls raise
`StoreUnavailable`; the effects of calls that returned survive the loss of any cache. `MemoryCoordination` serves
one-process clusters and tests.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

import msgspec

from cqs.clock import Clock


class Node(msgspec.Struct, frozen=True, kw_only=True):
    """A node's report on itself."""

    name: str
    url: str = ""
    started_ms: int
    beat_ms: int
    """The node's clock at this heartbeat."""
    is_open: bool = False
    """The node serves requests and maintains the caches."""
    is_draining: bool = False
    """An operator is draining the node; it still serves requests that arrive."""
    version: str = ""
    """The version of the program."""
    lost: tuple[str, ...] = ()
    """The Redis servers that this node can't reach."""
    servers: str = ""
    """The list of Redis servers the node uses, "version digest"; "" = it uses none, or an older version does not
    say."""
    run_ids: dict[str, str] = {}
    """Which server it reached last by each name of that list."""

    @property
    def life(self) -> str:
        """Distinguishes this node from its earlier lives, even if its clock was set back in between."""
        return f"{self.name} {self.started_ms}"


def in_order(nodes: Iterable[Node]) -> list[Node]:
    """By name and start."""
    return sorted(nodes, key=lambda node: (node.name, node.started_ms))


def youngest(nodes: Iterable[Node]) -> list[Node]:
    """One of each name, the one that was started last; in order."""
    return list({node.name: node for node in in_order(nodes)}.values())


class Home(msgspec.Struct, frozen=True):
    """The data centre that serves a queue's shard; each change of home raises `epoch`."""

    queue_uid: int
    shard: int
    datacenter: str
    epoch: int
    taken_ms: int = 0
    """When the home was taken, by the store's clock."""


class DirtyMark(msgspec.Struct, frozen=True, kw_only=True):
    """What a cache did not confirm to one node during one outage: addresses in this range may be wrong in the cache."""

    storage_id: int
    shard: int = 0
    node: str
    """The life of the node that set the mark."""
    since_ms: int
    """When the outage began; marking again replaces the mark of the same node, shard and outage."""
    low_address: int
    high_address: int


class News(msgspec.Struct, frozen=True):
    """Something changed: `kind` says what, `subject` which one."""

    kind: str
    subject: str


class Coordination(Protocol):
    """Belongs to one event loop."""

    async def now_ms(self) -> int:
        """The store's current time."""

    async def is_reached(self) -> bool:
        """Whether any part of the store answers the way a message's partition would have to. Never raises CqsError."""

    async def beat(self, node: Node, ttl_ms: int) -> None:
        """Reports the node as alive; without another heartbeat it counts as gone after `ttl_ms`."""

    async def nodes(self, datacenter: str = "") -> list[Node]:
        """The live nodes of that data centre, by name and start; "" = this one. For another one, as far as replicated.
        Several of one name are namesakes, or an earlier run whose time to live has not ended (`youngest`)."""

    async def lead(self, name: str, holder: str, ttl_ms: int) -> bool:
        """Takes or renews the lease; whether the holder has it now, for `ttl_ms` counted from before the call."""

    async def resign(self, name: str, holder: str) -> None:
        """Gives up the lease, if the holder has it."""

    async def home(self, queue_uid: int, shard: int) -> Home | None:
        """None = no data centre has served it yet."""

    async def take_home(self, queue_uid: int, shard: int, known: Home | None) -> Home | None:
        """Makes this data centre the home, if the home is still `known`; otherwise None."""

    async def mark_dirty(self, mark: DirtyMark, datacenter: str = "") -> None:
        """Marks it for the nodes of that data centre, "" = this one. Durable when it returns."""

    async def dirty_marks(self) -> list[DirtyMark]:
        """All marks of this data centre."""

    async def repaired(self, mark: DirtyMark) -> None:
        """Removes the mark for good: an identical mark set later may not be seen."""

    async def announce(self, news: News) -> None:
        """Every node gets it from its next `news`."""

    async def news(self) -> list[News] | None:
        """The news this node has not heard yet, including its own. None = too long ago to tell: check everything."""


class MemoryCoordination:
    """A `Coordination`. Instances that share a `MemoryCluster` act as several nodes."""

    def __init__(self, cluster: MemoryCluster, datacenter: str = "dc1") -> None:
        self._cluster = cluster
        self._datacenter = datacenter
        self._heard = len(cluster.news)

    async def now_ms(self) -> int:
        return self._cluster.clock.now_ms()

    async def is_reached(self) -> bool:
        return True

    async def beat(self, node: Node, ttl_ms: int) -> None:
        self._cluster.nodes[self._datacenter, node.life] = (node, self._cluster.clock.now_ms() + ttl_ms)

    async def nodes(self, datacenter: str = "") -> list[Node]:
        now_ms, wanted = self._cluster.clock.now_ms(), datacenter or self._datacenter
        living = [
            node for (place, _), (node, end_ms) in self._cluster.nodes.items() if place == wanted and end_ms > now_ms
        ]
        return in_order(living)

    async def lead(self, name: str, holder: str, ttl_ms: int) -> bool:
        now_ms = self._cluster.clock.now_ms()
        known = self._cluster.leaders.get(name)
        if known is not None and known[0] != holder and known[1] > now_ms:
            return False
        self._cluster.leaders[name] = (holder, now_ms + ttl_ms)
        return True

    async def resign(self, name: str, holder: str) -> None:
        if self._cluster.leaders.get(name, ("", 0))[0] == holder:
            del self._cluster.leaders[name]

    async def home(self, queue_uid: int, shard: int) -> Home | None:
        return self._cluster.homes.get((queue_uid, shard))

    async def take_home(self, queue_uid: int, shard: int, known: Home | None) -> Home | None:
        present = self._cluster.homes.get((queue_uid, shard))
        if (present and (present.datacenter, present.epoch)) != (known and (known.datacenter, known.epoch)):
            return None
        epoch = 1 if known is None else known.epoch + 1
        home = Home(queue_uid, shard, self._datacenter, epoch, self._cluster.clock.now_ms())
        self._cluster.homes[queue_uid, shard] = home
        return home

    async def mark_dirty(self, mark: DirtyMark, datacenter: str = "") -> None:
        self._cluster.marks[datacenter or self._datacenter, *_key_of(mark)] = mark

    async def dirty_marks(self) -> list[DirtyMark]:
        return [mark for key, mark in self._cluster.marks.items() if key[0] == self._datacenter]

    async def repaired(self, mark: DirtyMark) -> None:
        self._cluster.marks.pop((self._datacenter, *_key_of(mark)), None)

    async def announce(self, news: News) -> None:
        self._cluster.news.append(news)

    async def news(self) -> list[News] | None:
        start, self._heard = self._heard, len(self._cluster.news)
        return self._cluster.news[start:]


def _key_of(mark: DirtyMark) -> tuple[int, int, str, int]:
    return mark.storage_id, mark.shard, mark.node, mark.since_ms


class MemoryCluster:
    """The state shared by the nodes of one process."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.nodes: dict[tuple[str, str], tuple[Node, int]] = {}
        self.leaders: dict[str, tuple[str, int]] = {}
        self.homes: dict[tuple[int, int], Home] = {}
        self.marks: dict[tuple[str, int, int, str, int], DirtyMark] = {}
        self.news: list[News] = []
