"""Current leases of this process, kept in memory until they expire.

Most messages are deleted before that, and then nothing has to be written. When a minute has ended, the messages of the
remaining leases are looked up together (another node may have deleted them), and the leases of those that still exist
are written to `receives`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

import structlog

from cqs.clock import Clock
from cqs.errors import CqsError
from cqs.store.cassandra.leases import MINUTE_MS
from cqs.store.interface import Lease

KEPT_MAX = 100_000
"""Leases, 0.4 kB each; beyond this number they are written at once."""
GRACE_MS = 2_000
LOOK_S = 5.0
SETTLED_AT_ONCE = 1_000
_log = structlog.get_logger("cqs.store")

Existing = Callable[[int, Sequence[int]], Awaitable[set[int]]]
WriteEnded = Callable[[int, Sequence[Lease]], Awaitable[None]]


class LeaseKeeper:
    """Belongs to one event loop."""

    def __init__(self, clock: Clock, existing: Existing, write_ended: WriteEnded) -> None:
        """`existing(storage_id, addresses)` returns the messages that exist, `write_ended(storage_id, leases)` writes
        leases."""
        self._clock = clock
        self._existing = existing
        self._write_ended = write_ended
        self._minutes: dict[int, dict[int, tuple[int, Lease]]] = {}
        self._minute_of: dict[int, int] = {}
        self._settling = asyncio.Lock()

    def __len__(self) -> int:
        return len(self._minute_of)

    def hold(self, storage_id: int, leases: Sequence[Lease]) -> list[Lease]:
        """Keeps unexpired leases, the newest of each message; returns those for which there is no room."""
        now_ms = self._clock.now_ms()
        left_over: list[Lease] = []
        for lease in leases:
            minute = self._minute_of.get(lease.address)
            if minute is not None and self._minutes[minute][lease.address][1].receive_number > lease.receive_number:
                continue
            self.forget([lease.address])
            if lease.hidden_until_ms <= now_ms:
                continue
            if len(self._minute_of) >= KEPT_MAX:
                left_over.append(lease)
                continue
            minute = lease.hidden_until_ms // MINUTE_MS
            self._minutes.setdefault(minute, {})[lease.address] = (storage_id, lease)
            self._minute_of[lease.address] = minute
        return left_over

    def forget(self, addresses: Sequence[int]) -> None:
        """The messages were deleted, or received again."""
        if self._minute_of:
            for address in addresses:
                minute = self._minute_of.pop(address, None)
                if minute is not None:
                    del self._minutes[minute][address]

    async def run(self) -> None:
        """Settles each minute after its end, until cancelled; a settling in progress is completed."""
        while True:
            await asyncio.sleep(LOOK_S)
            await asyncio.shield(asyncio.ensure_future(self.settle()))

    async def settle(self, *, is_end: bool = False) -> None:
        """Writes expired leases whose messages still exist; `is_end`: all leases. Never raises."""
        async with self._settling:
            await self._settle_minutes(is_end)

    async def _settle_minutes(self, is_end: bool) -> None:
        over = (self._clock.now_ms() - GRACE_MS) // MINUTE_MS
        for minute in sorted(self._minutes):
            if minute >= over and not is_end:
                return
            kept = self._minutes.pop(minute)
            for address in kept:
                self._minute_of.pop(address, None)
            queues: dict[int, list[Lease]] = {}
            for storage_id, lease in kept.values():
                queues.setdefault(storage_id, []).append(lease)
            for storage_id, leases in queues.items():
                for start in range(0, len(leases), SETTLED_AT_ONCE):
                    await self._settle(storage_id, leases[start : start + SETTLED_AT_ONCE])

    async def _settle(self, storage_id: int, leases: Sequence[Lease]) -> None:
        try:
            there = await self._existing(storage_id, [lease.address for lease in leases])
            await self._write_ended(storage_id, [lease for lease in leases if lease.address in there])
        except CqsError as error:
            _log.warning("receives_not_written", count=len(leases), reason=str(error))
