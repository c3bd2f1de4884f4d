"""What nodes of a cluster agree on through the store: who lives, who leads, where a queue is at home, what is dirty.

    beat ──► nodes                              lead ──► one holder a name, until its lease ends
    mark_dirty ──► dirty_marks ──► repaired     take_home: by condition, epoch + 1
    announce ──► news, at every node            who changed what

None of this is on a message's way. Leases end by the store's clock: a holder counts from BEFORE it asked, by its own
monotonic clock, and stops when `ttl_ms` has passed, so that it always stops first. Calls raise `StoreUnavailable`; what
returned survives the loss of any cache. `MemoryCoordination` is the cluster of one process, and the tests'.
"""

from __future__ import annotations

from typing import Protocol

import msgspec

from cqs.clock import Clock


class Node(msgspec.Struct, frozen=True, kw_only=True):
    """A node's own account of itself."""

    name: str
    url: str = ""
    started_ms: int
    beat_ms: int
    """The node's clock at this beat."""
    is_open: bool = False
    """It serves: what lies in the caches is looked after."""
    is_draining: bool = False
    """An operator has taken it out; it serves what still comes."""
    version: str = ""
    """Of the program."""
    lost: tuple[str, ...] = ()
    """Redis servers that this node can't reach."""
    servers: str = ""
    """The list of Redis servers that it goes by, "version digest"; "" = it uses none, or does not tell."""
    run_ids: dict[str, str] = {}
    """Which server it reached last by each name of that list."""

    @property
    def life(self) -> str:
        """What tells this node from its former selves, also when its clock was set back between them."""
        return f"{self.name} {self.started_ms}"


class Home(msgspec.Struct, frozen=True):
    """The data centre that serves a queue's shard; `epoch` grows at every change of hands."""

    queue_uid: int
    shard: int
    datacenter: str
    epoch: int
    taken_ms: int = 0
    """When it was taken, by the store's clock."""


class DirtyMark(msgspec.Struct, frozen=True, kw_only=True):
    """What a cache did not confirm to one node in one outage: addresses between these may be wrong in the cache."""

    storage_id: int
    shard: int = 0
    node: str
    """The life of the node that made it."""
    since_ms: int
    """The outage's begin: marking again replaces the mark of this node, shard and outage."""
    low_address: int
    high_address: int


class News(msgspec.Struct, frozen=True):
    """Something changed. `kind` says what, `subject` which one."""

    kind: str
    subject: str


class Coordination(Protocol):
    """Belongs to one event loop."""

    async def now_ms(self) -> int:
        """The time, as the store has it."""

    async def is_reached(self) -> bool:
        """Whether any part of the store answers as a message's part would have to. Never raises CqsError."""

    async def beat(self, node: Node, ttl_ms: int) -> None:
        """The node lives; without another beat it is gone after `ttl_ms`."""

    async def nodes(self, datacenter: str = "") -> list[Node]:
        """Those of that data centre that live, by name; "" = of this one. Of another, as far as was replicated."""

    async def lead(self, name: str, holder: str, ttl_ms: int) -> bool:
        """Takes or renews the lease: whether the holder has it now, for `ttl_ms` from before the call."""

    async def resign(self, name: str, holder: str) -> None:
        """Gives the lease up, if the holder has it."""

    async def home(self, queue_uid: int, shard: int) -> Home | None:
        """None = nobody has served it yet."""

    async def take_home(self, queue_uid: int, shard: int, known: Home | None) -> Home | None:
        """Makes this data centre the home, if it is still as `known`; None when it is not."""

    async def mark_dirty(self, mark: DirtyMark, datacenter: str = "") -> None:
        """For the nodes of that data centre, "" = this one. Durable when it returns."""

    async def dirty_marks(self) -> list[DirtyMark]:
        """All of this data centre."""

    async def repaired(self, mark: DirtyMark) -> None:
        """Removes it for good: the same one made again may not be seen."""

    async def announce(self, news: News) -> None:
        """Every node hears of it at its next `news`."""

    async def news(self) -> list[News] | None:
        """What this node has not heard yet, its own included. None = too long ago to tell: look at everything."""


class MemoryCoordination:
    """A `Coordination`. Several of one `MemoryCluster` are several nodes."""

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
        newest = {node.name: node for node in sorted(living, key=lambda node: node.started_ms)}
        return sorted(newest.values(), key=lambda node: node.name)

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
    """What the nodes of one process share."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.nodes: dict[tuple[str, str], tuple[Node, int]] = {}
        self.leaders: dict[str, tuple[str, int]] = {}
        self.homes: dict[tuple[int, int], Home] = {}
        self.marks: dict[tuple[str, int, int, str, int], DirtyMark] = {}
        self.news: list[News] = []
