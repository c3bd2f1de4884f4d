"""Leases that nobody waits for, collected by queue and written some milliseconds later."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

import structlog

from cqs.errors import CqsError
from cqs.store.interface import Lease
from cqs.store.lease_buffer import LeaseBuffer

QUEUES_MAX = 10_000
_log = structlog.get_logger("cqs.store")


class LeaseQueues:
    """A buffer for each queue with receives. Belongs to one event loop."""

    def __init__(self, write: Callable[[int, Sequence[Lease]], Awaitable[None]]) -> None:
        self.failures = 0
        """Leases that could not be written: each may cause a duplicate if the cache is lost."""
        self._write = write
        self._buffers: dict[int, LeaseBuffer] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def add(self, storage_id: int, leases: Sequence[Lease]) -> None:
        buffer = self._buffers.get(storage_id)
        if buffer is None:
            if len(self._buffers) >= QUEUES_MAX:
                self._buffers.pop(next(iter(self._buffers))).flush()
            buffer = self._buffers[storage_id] = LeaseBuffer(lambda ready: self._post(storage_id, ready))
        buffer.add(leases)

    def discard(self, storage_id: int, addresses: Sequence[int]) -> None:
        """These messages are being deleted."""
        buffer = self._buffers.get(storage_id)
        if buffer is not None:
            buffer.discard(addresses)

    def overtake(self, storage_id: int, leases: Sequence[Lease]) -> None:
        """These leases are being written now."""
        buffer = self._buffers.get(storage_id)
        if buffer is not None:
            buffer.overtake(leases)

    async def close(self) -> None:
        """Writes the buffered leases."""
        for buffer in self._buffers.values():
            buffer.flush()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _post(self, storage_id: int, leases: Sequence[Lease]) -> None:
        task = asyncio.ensure_future(self._write_down(storage_id, leases))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _write_down(self, storage_id: int, leases: Sequence[Lease]) -> None:
        try:
            await self._write(storage_id, leases)
        except CqsError as error:
            self.failures += len(leases)
            _log.warning("leases_not_written", count=len(leases), reason=str(error))
