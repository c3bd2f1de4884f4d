"""Long polling. The rule that prevents lost wake-ups: register FIRST, then look, then sleep.

    receiver                     sender                     without the rule
    ────────                     ──────                     ────────────────
    looks: empty                                            the message is put between the look and
                                 put, wake(nobody waits)    the registration, and the poller sleeps
    registers, sleeps                                       20 s while it is ready

One `wake` for n messages wakes n waiters in FIFO order. Each looks again and, if it finds nothing, goes back to sleep.
A wake-up covers one look that begins after it:

    asleep ──wake──► woken ──look──► asleep             woken during a look: it looks once more
       │                 └──leaves without a look──► the wake-up goes to another waiter, on any node
       └──its wait ends──► looks one last time, and nobody counts on it any more

A waiter belongs to one incarnation of a queue (uid). When the queue is deleted, all its waiters are woken and return.
"""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict

from cqs.errors import RequestThrottled
from cqs.plural import counted, plural

DRAINING_WAIT_MS = 1_000


class Waiter:
    """One waiting receive: an event that can be set repeatedly, without a task of its own."""

    __slots__ = ("_asleep", "_future", "account", "is_over", "is_woken")

    def __init__(self, asleep: OrderedDict[Waiter, None], account: str) -> None:
        self._asleep = asleep
        self._future: asyncio.Future[None] | None = None
        self.account = account
        self.is_over = False
        self.is_woken = False
        """It has a wake-up that it has not looked for yet."""

    async def wait(self, timeout_s: float) -> None:
        """Waits until woken or timed out. Safe to cancel."""
        if not self.is_woken and not self.is_over:
            loop = asyncio.get_running_loop()
            future = self._future = loop.create_future()
            timer = loop.call_later(timeout_s, self.rouse)
            try:
                await future
            finally:
                timer.cancel()
                self._future = None
        if self.is_woken:
            self.is_woken = False
            self._asleep[self] = None

    def wake(self) -> None:
        """Gives it a wake-up for its next look. Idempotent."""
        self.is_woken = True
        self.rouse()

    def end(self) -> None:
        """It waits no longer, now or later: its queue or its client is gone, or the node hands its receivers over."""
        self.is_over = True
        self.rouse()

    def rouse(self) -> None:
        """Ends its current wait, if it is waiting."""
        if self._future is not None and not self._future.done():
            self._future.set_result(None)


class _Line:
    """The waiters of one queue. Those `asleep` have no wake-up yet, longest waiting first."""

    __slots__ = ("asleep", "broken", "passed_on", "promised", "waiters")

    def __init__(self) -> None:
        self.waiters: dict[Waiter, None] = {}
        self.asleep: OrderedDict[Waiter, None] = OrderedDict()
        self.promised = self.broken = self.passed_on = 0

    @property
    def spare(self) -> int:
        """How many sleepers no call has reserved."""
        return max(0, len(self.asleep) - self.promised)

    def wake(self, count: int) -> int:
        woken = min(count, len(self.asleep))
        for _ in range(woken):
            waiter, _none = self.asleep.popitem(last=False)
            waiter.wake()
        return woken


class Promise:
    """Waiters that a call has reserved, see `cqs.cache.bells`. Until it is released, other wake-ups for the queue leave
    that many asleep and are passed on. On release, wake-ups passed on meanwhile wake waiters that the call did not
    need, since there may have been no other waiters."""

    __slots__ = ("_line", "count")

    def __init__(self, line: _Line, count: int) -> None:
        self._line = line
        self.count = count
        line.promised += count

    def release(self) -> None:
        """Call once."""
        line = self._line
        line.promised -= self.count
        line.broken = min(line.broken, line.promised)
        if not line.promised:
            passed_on, line.passed_on = line.passed_on, 0
            line.wake(passed_on)


class Waiters:
    """All waiting receives of this node, by queue uid."""

    def __init__(self, account_max: int | None = None) -> None:
        """`account_max`: how many receives of one account may wait at the same time."""
        self._lines: dict[int, _Line] = {}
        self._by_account: Counter[str] = Counter()
        self._account_max = account_max
        self._is_closed = False
        self.is_draining = False
        """Whether this node hands its receivers over to others; see `drain`."""

    def __len__(self) -> int:
        return sum(len(line.waiters) for line in self._lines.values())

    def __bool__(self) -> bool:
        return bool(self._lines)

    def queues(self) -> set[int]:
        """The uids of queues with waiting receives."""
        return set(self._lines)

    def count(self, queue_uid: int) -> int:
        line = self._lines.get(queue_uid)
        return 0 if line is None else len(line.waiters)

    def asleep(self, queue_uid: int) -> int:
        """How many of the queue's waiters have not been woken."""
        line = self._lines.get(queue_uid)
        return 0 if line is None else len(line.asleep)

    def register(self, queue_uid: int, account: str = "") -> Waiter:
        """`account`: the account of the receive. Raises RequestThrottled if too many receives of the account wait
        already."""
        if self._account_max is not None and self._by_account[account] >= self._account_max:
            raise RequestThrottled(
                f"Rate exceeded: {counted(self._account_max, 'receive')} of account {account} "
                f"{plural(self._account_max, 'waits', 'wait')} for messages already."
            )
        self._by_account[account] += 1
        line = self._lines.setdefault(queue_uid, _Line())
        waiter = Waiter(line.asleep, account)
        waiter.is_over = self._is_closed
        line.waiters[waiter] = line.asleep[waiter] = None
        return waiter

    def retire(self, queue_uid: int, waiter: Waiter) -> None:
        """Its wait is over: it looks one last time, and later messages are for others."""
        line = self._lines.get(queue_uid)
        if line is not None:
            line.asleep.pop(waiter, None)

    def leave(self, queue_uid: int, waiter: Waiter) -> bool:
        """Idempotent. Its unused wake-up, `is_woken`, must be passed on. So must one that a call has reserved it for:
        returns True if a call now has too few waiters, and its wake-up is for others."""
        line = self._lines.get(queue_uid)
        if line is None or waiter not in line.waiters:
            return False
        del line.waiters[waiter]
        line.asleep.pop(waiter, None)
        if not line.waiters:
            del self._lines[queue_uid]
        self._by_account[waiter.account] -= 1
        if not self._by_account[waiter.account]:
            del self._by_account[waiter.account]
        is_broken = len(line.asleep) < line.promised - line.broken
        line.broken += is_broken
        return is_broken

    def wake(self, queue_uid: int, count: int) -> int:
        """Wakes up to `count` sleeping waiters of the queue; returns how many."""
        line = self._lines.get(queue_uid)
        return 0 if line is None else line.wake(count)

    def promise(self, queue_uid: int, count_max: int) -> Promise | None:
        """Reserves up to `count_max` sleepers that no other call has reserved; None if there are none."""
        line = self._lines.get(queue_uid)
        count = 0 if line is None else min(count_max, line.spare)
        return Promise(line, count) if line is not None and count else None

    def wake_spare(self, queue_uid: int, count: int) -> int:
        """As `wake`, but skips waiters that a call has reserved."""
        line = self._lines.get(queue_uid)
        if line is None:
            return 0
        woken = line.wake(min(count, line.spare))
        line.passed_on += min(count - woken, line.promised)
        return woken

    def wake_all(self, queue_uid: int) -> None:
        """The queue was changed or refilled: all waiters look again."""
        self.wake(queue_uid, self.count(queue_uid))

    def end_queue(self, queue_uid: int) -> None:
        """The queue is gone: its waiters stop looking."""
        line = self._lines.get(queue_uid)
        for waiter in list(line.waiters) if line is not None else ():
            waiter.end()

    def drain(self) -> None:
        """An operator takes the node out of service: all waiters are answered now, and later receives wait for
        DRAINING_WAIT_MS at most. Not 0, or clients that no load balancer moves away would poll in a busy loop.
        Idempotent."""
        self.is_draining = True
        for queue_uid in list(self._lines):
            self.end_queue(queue_uid)

    def resume(self) -> None:
        """The node is back in service. Idempotent."""
        self.is_draining = False

    def wait_ms_of(self, wanted_ms: int) -> int:
        """How long a receive that asks for `wanted_ms` may wait now."""
        return min(wanted_ms, DRAINING_WAIT_MS) if self.is_draining else wanted_ms

    def end_all(self) -> None:
        """The server stops: all waiters are answered now, and later receives do not wait."""
        self._is_closed = True
        for queue_uid in list(self._lines):
            self.end_queue(queue_uid)
