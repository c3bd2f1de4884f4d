"""All open connections of a process: their limits, and the task that checks their deadlines."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from typing import Protocol

from cqs.api.http.bounds import Bounds
from cqs.api.http.unread import Unread

SWEEPS_PER_DEADLINE = 4
SWEEP_S_MAX = 1.0


class Guest(Protocol):
    """A connection of either lane. `address` is the client's."""

    address: str

    def unread(self) -> int:
        """Bytes of its answer that its client has not read yet."""

    def cut_off(self) -> None:
        """Aborts it at once."""

    def sweep(self, now_s: float) -> None:
        """Checks its deadline; called about every second."""


class Connections:
    """All open connections of a process: how many, from which addresses, and which have waited too long."""

    def __init__(self, bounds: Bounds) -> None:
        self._bounds = bounds
        self._open: set[Guest] = set()
        self._by_address: Counter[str] = Counter()
        self.unread = Unread(bounds.answers_bytes_max, bounds.unread_s_max)

    def __len__(self) -> int:
        return len(self._open)

    def __iter__(self) -> Iterator[Guest]:
        return iter(list(self._open))

    def has_room(self, address: str, coming: int = 0, coming_from_there: int = 0) -> bool:
        """Whether one more connection is allowed, in addition to others that are being accepted and not counted yet."""
        bounds = self._bounds
        return (
            len(self._open) + coming < bounds.connections_max
            and self._by_address[address] + coming_from_there < bounds.connections_per_address_max
        )

    def admit(self, connection: Guest) -> bool:
        """Counts the connection. False, without counting it, when there are too many."""
        address = connection.address
        if not self.has_room(address):
            return False
        self._open.add(connection)
        self._by_address[address] += 1
        return True

    def leave(self, connection: Guest) -> None:
        """Idempotent."""
        self.unread.leave(connection)
        if connection not in self._open:
            return
        self._open.discard(connection)
        self._by_address[connection.address] -= 1
        if not self._by_address[connection.address]:
            del self._by_address[connection.address]

    async def run(self) -> None:
        """Sweeps all connections periodically; never returns."""
        period_s = min(SWEEP_S_MAX, self._bounds.header_s_max / SWEEPS_PER_DEADLINE)
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(period_s)
            self.sweep(loop.time())

    def sweep(self, now_s: float) -> None:
        """Lets every connection check its own deadline."""
        for connection in list(self._open):
            connection.sweep(now_s)
        self.unread.sweep(now_s)
