"""What others wait for until it is decided."""

from __future__ import annotations

import asyncio


class Settling:
    """Belongs to one event loop. Whoever waits looks again when woken: nothing says which way it went."""

    __slots__ = ("_waiters",)

    def __init__(self) -> None:
        self._waiters: list[asyncio.Future[None]] = []

    async def settled(self) -> None:
        """Returns at the next `wake`."""
        waiter = asyncio.get_running_loop().create_future()
        self._waiters.append(waiter)
        await waiter

    def wake(self) -> None:
        """Everybody who waits now."""
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)
