"""Buffers leases that nobody waits for, and writes them together after LEASE_SOON_MS. If a consumer deletes its message
within that time, the lease costs no write at all, since the delete removes it from the buffer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from cqs.store.interface import LEASE_SOON_MS, Lease

PENDING_MAX = 4_096


class LeaseBuffer:
    """Belongs to the event loop. `write` gets the leases when they are due."""

    def __init__(self, write: Callable[[list[Lease]], None]) -> None:
        self._write = write
        self._pending: dict[int, Lease] = {}
        self._timer: asyncio.TimerHandle | None = None

    def add(self, leases: Sequence[Lease]) -> None:
        pending = self._pending
        for lease in leases:
            known = pending.get(lease.address)
            if known is None or known.receive_number <= lease.receive_number:
                pending[lease.address] = lease
        if len(pending) >= PENDING_MAX:
            self.flush()
        elif self._timer is None and pending:
            self._timer = asyncio.get_running_loop().call_later(LEASE_SOON_MS / 1000, self.flush)

    def discard(self, addresses: Sequence[int]) -> None:
        """These messages are being deleted."""
        if self._pending:
            for address in addresses:
                self._pending.pop(address, None)

    def overtake(self, leases: Sequence[Lease]) -> None:
        """These leases are being written now: buffered leases of the same messages are older, unless their number is
        higher."""
        for lease in leases:
            known = self._pending.get(lease.address)
            if known is not None and known.receive_number <= lease.receive_number:
                del self._pending[lease.address]

    def flush(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._pending:
            self._write(list(self._pending.values()))
            self._pending.clear()
