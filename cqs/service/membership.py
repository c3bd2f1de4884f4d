"""Which nodes are alive: this node's heartbeats, and what the others' report.

    this node   beat ── beat ── beat ── leave          each BEAT_MS; without a beat it is gone after LIFE_MS
    others      ────── look ── look ────── look        as of the last look

A node whose store is unreachable keeps its last view: nobody can be served then anyway. Runs of a node are told apart
by their start time (`Node.life`).

Operators choose the names, and cloned machines may have the same one. A node does not see its namesake among the
others, so it would open as if nobody were serving, and would treat the other's marks as left by a dead node. When the
elder of the two sees beats of a younger run of its name, it stops taking messages, and the younger one
reports it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from cqs.clock import Clock
from cqs.cluster.sightings import Sightings
from cqs.errors import CqsError, ServiceUnavailable
from cqs.service.lists import Listed, Lists, Unlisted
from cqs.store.coordination import Coordination, Node, youngest

BEAT_MS = 1_000
LIFE_MS = 5_000
AHEAD_MS_MAX = 5_000
MISSED_MAX = 3
"""Failed beats in a row before this node checks whether anything of the store answers."""


def _nothing() -> Sequence[str]:
    return ()


class Membership:
    """Belongs to one event loop. `lost` returns the cache servers that this node can't reach now."""

    def __init__(
        self,
        coordination: Coordination,
        clock: Clock,
        me: Node,
        lost: Callable[[], Sequence[str]] = _nothing,
        listed: Listed | None = None,
    ) -> None:
        self._coordination = coordination
        self._clock = clock
        self._lost = lost
        self.lists = Lists(listed or Unlisted())
        self._has_left = False
        self._missed = 0
        self.me = me
        self.nodes: Sequence[Node] = (me,)
        """The live nodes by name, including this one."""
        self.store_problem = ""
        """Why the last beat failed; "" = it did not."""
        self.is_cut_off = False
        """Beats have failed for a while, and no part of the store answers."""
        self.clocks = Sightings()
        """Clocks of the other nodes."""
        self._namesakes: dict[str, int] = {}
        """The last beats of other runs under this node's name."""
        self._beating: set[str] = set()
        """Those that have been seen to beat."""
        self.has_namesake = False
        """Another node was started later with this one's name, and is beating."""
        self.ahead_ms = 0
        """This node's clock offset from the store's if it is too large, else 0; < 0 = behind."""

    @property
    def others(self) -> list[Node]:
        return [node for node in self.nodes if node.name != self.me.name]

    async def beat(self) -> None:
        """Announces this node, and reads the other nodes and the store's clock. Raises StoreUnavailable,
        OutcomeUnknown."""
        if self._has_left:
            return
        try:
            await self._beat()
        except CqsError as error:
            self._missed += 1
            self.store_problem = str(error)
            self.is_cut_off = self._missed >= MISSED_MAX and not await self._coordination.is_reached()
            raise
        self._missed, self.store_problem, self.is_cut_off = 0, "", False

    async def _beat(self) -> None:
        await self._look_at_clock()
        self.me = msgspec.structs.replace(
            self.me,
            beat_ms=self._clock.now_ms(),
            lost=tuple(self._lost()),
            servers=self.lists.listed.in_use,
            run_ids=dict(self.lists.listed.run_ids),
        )
        await self._coordination.beat(self.me, LIFE_MS)
        begin_ms = self._clock.now_ms()
        lives = await self._coordination.nodes()
        self._look_for_namesakes([one for one in lives if one.name == self.me.name and one.life != self.me.life])
        nodes = [node for node in youngest(lives) if node.name != self.me.name]
        self.clocks.look([(node.name, node.beat_ms) for node in nodes], begin_ms, self._clock.now_ms())
        self.nodes = sorted([*nodes, self.me], key=lambda node: node.name)
        self.lists.look(self.me, nodes)

    def _look_for_namesakes(self, found: Sequence[Node]) -> None:
        """If the clock was set back, this node's earlier run may look younger, but it does not beat."""
        before, self._namesakes = self._namesakes, {one.life: one.beat_ms for one in found}
        beating = [
            one for one in found if one.life in self._beating or before.get(one.life, one.beat_ms) != one.beat_ms
        ]
        self._beating = {one.life for one in beating}
        self.has_namesake = any(one.started_ms > self.me.started_ms for one in beating)

    async def _look_at_clock(self) -> None:
        before_ms = self._clock.now_ms()
        store_ms = await self._coordination.now_ms()
        after_ms = self._clock.now_ms()
        unsure_ms = abs(after_ms - before_ms) // 2
        ahead_ms = (before_ms + after_ms) // 2 - store_ms
        self.ahead_ms = ahead_ms if abs(ahead_ms) - unsure_ms > AHEAD_MS_MAX else 0

    def clock_problem(self) -> str:
        """What is wrong with this node's clock, as a sentence; "" = nothing."""
        if not self.ahead_ms:
            return ""
        side = "ahead of" if self.ahead_ms > 0 else "behind"
        return f"This node's clock is {abs(self.ahead_ms) / 1_000:.0f} s {side} the store's: it accepts no messages."

    def name_problem(self) -> str:
        """What is wrong with this node's name, as a sentence; "" = nothing."""
        if not self.has_namesake:
            return ""
        return (
            f"Another node is also named {self.me.name}, so this one accepts no messages. Give each its own node_name."
        )

    def name_trouble(self) -> str:
        """Like `name_problem`, on the younger of the two nodes, which keeps serving."""
        if not self._beating or self.has_namesake:
            return ""
        return f"An older node is also named {self.me.name}, and accepts no messages. Give each its own node_name."

    def check(self) -> None:
        """Raises ServiceUnavailable on a node with a wrong clock, whose messages would be out of order and expire too
        early or too late, and on one with another's name, which the others take for dead."""
        if self.ahead_ms or self.has_namesake:
            raise ServiceUnavailable(self.clock_problem() or self.name_problem())

    def open(self) -> None:
        """Announces from the next beat on that this node serves."""
        self.me = msgspec.structs.replace(self.me, is_open=True)

    def drain(self, is_draining: bool) -> None:
        """The others learn of it at the next beat."""
        self.me = msgspec.structs.replace(self.me, is_draining=is_draining)

    async def leave(self) -> None:
        """Ends this node's membership at once, so that the others need not wait for its beats to expire. It does not
        beat again. Raises StoreUnavailable, OutcomeUnknown."""
        self._has_left = True
        self.me = msgspec.structs.replace(self.me, is_open=False, servers="")
        await self._coordination.beat(self.me, 1)

    def is_served(self) -> bool:
        """Whether another node serves, and so maintains what is in the caches."""
        return any(node.is_open for node in self.others)

    def is_of_the_dead(self, life: str) -> bool:
        """Whether this run of a node is over."""
        return all(node.life != life for node in self.nodes)

    def is_lost_here_alone(self, place: str) -> bool:
        """Whether this node can't reach the cache server while some other node can."""
        return place in self._lost() and self.is_reached_by_others(place)

    def tends(self, place: str) -> bool:
        """Whether this node, of those that reach the cache server, does the work there on behalf of all."""
        mine = self.lists.listed.text
        able = [node.name for node in self.nodes if node.is_open and node.servers == mine and place not in node.lost]
        return able[:1] == [self.me.name]

    def is_reached_by_others(self, place: str) -> bool:
        """Whether some other node reaches this cache server."""
        return any(node.is_open and place not in node.lost for node in self.others)
