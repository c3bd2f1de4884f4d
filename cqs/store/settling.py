"""Something undecided that callers wait for."""

from __future__ import annotations

import asyncio


class Settling:
    """Belongs to one event loop. Callers that are woken must look again: the wake-up does not say what was decided."""

    __slots__ = ("_waiters",)

    def __init__(self) -> None:
        self._waiters: list[asyncio.Future[None]] = []

    async def settled(self) -> None:
        """Returns at the next `wake`."""
        waiter = asyncio.get_running_loop().create_future()
        self._waiters.append(waiter)
        await waiter

    def wake(self) -> None:
        """Wakes everybody who is waiting now."""
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)
