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
from collections import Counter, OrderedDict

from cqs.errors import RequestThrottled

DRAINING_WAIT_MS = 1_000


class Waiter:
    """One waiting receive: an event that can be set many times, without a task of its own."""

    __slots__ = ("_future", "account", "is_over")

    def __init__(self, account: str = "") -> None:
        self._future: asyncio.Future[None] | None = None
        self.account = account
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

    def __init__(self, account_max: int | None = None) -> None:
        """`account_max`: how many of one account may wait at the same time."""
        self._by_queue: dict[int, OrderedDict[Waiter, None]] = {}
        self._by_account: Counter[str] = Counter()
        self._account_max = account_max
        self._is_closed = False
        self.is_draining = False
        """Whether this node gives its receivers up to others; see `drain`."""

    def __len__(self) -> int:
        return sum(len(waiters) for waiters in self._by_queue.values())

    def count(self, queue_uid: int) -> int:
        return len(self._by_queue.get(queue_uid, ()))

    def register(self, queue_uid: int, account: str = "") -> Waiter:
        """`account`: whose receive it is. Raises RequestThrottled when too many of the account wait already."""
        if self._account_max is not None and self._by_account[account] >= self._account_max:
            raise RequestThrottled(
                f"Rate exceeded: {self._account_max} receives of account {account} wait for messages already."
            )
        self._by_account[account] += 1
        waiter = Waiter(account)
        waiter.is_over = self._is_closed
        self._by_queue.setdefault(queue_uid, OrderedDict())[waiter] = None
        return waiter

    def leave(self, queue_uid: int, waiter: Waiter) -> None:
        """Idempotent. A waiter that leaves with a wake-up it could not use should `wake` the next."""
        waiters = self._by_queue.get(queue_uid)
        if waiters is None or waiter not in waiters:
            return
        del waiters[waiter]
        if not waiters:
            del self._by_queue[queue_uid]
        self._by_account[waiter.account] -= 1
        if not self._by_account[waiter.account]:
            del self._by_account[waiter.account]

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

    def drain(self) -> None:
        """An operator takes the node out: everyone is answered now, and who comes later waits for DRAINING_WAIT_MS at
        most. Not for no time at all, or clients that nobody led elsewhere would ask without a pause. Idempotent."""
        self.is_draining = True
        for queue_uid in list(self._by_queue):
            self.end_queue(queue_uid)

    def resume(self) -> None:
        """The node is in again. Idempotent."""
        self.is_draining = False

    def wait_ms_of(self, wanted_ms: int) -> int:
        """How long a receive may wait now."""
        return min(wanted_ms, DRAINING_WAIT_MS) if self.is_draining else wanted_ms

    def end_all(self) -> None:
        """The server stops: everyone is answered now, and later ones do not wait."""
        self._is_closed = True
        for queue_uid in list(self._by_queue):
            self.end_queue(queue_uid)
