"""Receives that wait. The rule that closes the race: register FIRST, then look, then sleep.

    receiver                     sender                     without the rule
    ────────                     ──────                     ────────────────
    looks: empty                                            the message is put between the look and
                                 put, wake(nobody waits)    the registration, and the poller sleeps
    registers, sleeps                                       20 s beside it

One `wake` for n messages wakes n waiters, each of which looks again and, empty-handed, sleeps on: first come, first
served. A waiter belongs to one queue incarnation (uid): when the queue goes, all its waiters are told and end.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict


class Waiter:
    """One waiting receive: an event that can be set many times, without a task of its own."""

    __slots__ = ("_future", "is_over")

    def __init__(self) -> None:
        self._future: asyncio.Future[None] | None = None
        self.is_over = False

    async def wait(self, timeout_s: float) -> None:
        """Until woken or timed out. Cancelling it is safe."""
        loop = asyncio.get_running_loop()
        future = self._future = loop.create_future()
        timer = loop.call_later(timeout_s, self.wake)
        try:
            await future
        finally:
            timer.cancel()
            self._future = None

    def wake(self) -> None:
        if self._future is not None and not self._future.done():
            self._future.set_result(None)


class Waiters:
    """All waiting receives of this node, by queue uid, longest waiting first."""

    def __init__(self) -> None:
        self._by_queue: dict[int, OrderedDict[Waiter, None]] = {}
        self._is_closed = False

    def __len__(self) -> int:
        return sum(len(waiters) for waiters in self._by_queue.values())

    def count(self, queue_uid: int) -> int:
        return len(self._by_queue.get(queue_uid, ()))

    def register(self, queue_uid: int) -> Waiter:
        waiter = Waiter()
        waiter.is_over = self._is_closed
        self._by_queue.setdefault(queue_uid, OrderedDict())[waiter] = None
        return waiter

    def leave(self, queue_uid: int, waiter: Waiter) -> None:
        """Idempotent. A waiter that leaves with a wake-up it could not use should `wake` the next."""
        waiters = self._by_queue.get(queue_uid)
        if waiters is not None:
            waiters.pop(waiter, None)
            if not waiters:
                del self._by_queue[queue_uid]

    def wake(self, queue_uid: int, count: int) -> None:
        """Wakes up to `count` waiters of the queue and sends them to the end of its line."""
        waiters = self._by_queue.get(queue_uid)
        if waiters is None:
            return
        for waiter in list(waiters)[:count] if count < len(waiters) else list(waiters):
            waiters.move_to_end(waiter)
            waiter.wake()

    def end_queue(self, queue_uid: int) -> None:
        """The queue is gone: its waiters look no more."""
        for waiter in list(self._by_queue.get(queue_uid, ())):
            waiter.is_over = True
            waiter.wake()

    def end_all(self) -> None:
        """The server stops: everyone is answered now, and later ones do not wait."""
        self._is_closed = True
        for queue_uid in list(self._by_queue):
            self.end_queue(queue_uid)
