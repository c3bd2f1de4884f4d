"""The API nodes of the other data centres, known from their heartbeats, which the store replicates. Queried through
`Latest`, and only while somebody looks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec

from admin.latest import WAIT_S, Latest
from cqs.errors import CqsError
from cqs.service.engine import Engine
from cqs.store.coordination import Node

FIRST_WAIT_S = 0.25


class Heard(msgspec.Struct, frozen=True):
    """The living nodes by data centre: none in a data centre = no heartbeats from it when the store was queried."""

    nodes: Mapping[str, Sequence[Node]] = {}
    asked_ms: int = 0


class Resident(NamedTuple):
    """A node and its data centre, "" if the store has only one; None = no heartbeats from any node there."""

    datacenter: str
    node: Node | None


def residents_of(here: str, nodes: Sequence[Node], heard: Heard) -> list[Resident]:
    """The nodes of this data centre, then those of each other one."""
    residents = [Resident(here, node) for node in nodes]
    for datacenter, far in heard.nodes.items():
        residents += [Resident(datacenter, node) for node in far] or [Resident(datacenter, None)]
    return residents


class Abroad:
    """Belongs to one event loop."""

    def __init__(self, engine: Engine, wait_s: float = WAIT_S, first_wait_s: float = FIRST_WAIT_S) -> None:
        self._engine = engine
        self._latest = Latest(self._find_out, engine.clock, Heard(), wait_s, first_wait_s)

    async def heard(self) -> Heard:
        """As of the last time that the store answered. Empty, without a query, if it has only one data centre."""
        return await self._latest.answer() if self._engine.cluster.far else Heard()

    async def end(self) -> None:
        """Called when the server stops. Idempotent."""
        await self._latest.end()

    async def _find_out(self) -> Heard:
        asked_ms = self._engine.clock.now_ms()
        try:
            return Heard(await self._engine.cluster.far_nodes(), asked_ms)
        except CqsError:
            return self._latest.known
