"""Receives that wait. The rule that closes the race: register FIRST, then look, then sleep.

    receiver                     sender                     without the rule
    ────────                     ──────                     ────────────────
    looks: empty                                            the message is put between the look and
                                 put, wake(nobody waits)    the registration, and the poller sleeps
    registers, sleeps                                       20 s beside it

One `wake` for n messages wakes n waiters, each of which looks again and, empty-handed, sleeps on: first come, first
served. A wake-up is for one look that begins after it:

    asleep ──wake──► woken ──look──► asleep             woken while it looks: it looks once more
       │                 └──leaves without a look──► the wake-up goes to the next, on whichever node
       └──its time is over──► looks a last time, and nobody counts on it any more

A waiter belongs to one queue incarnation (uid): when the queue goes, all its waiters are told and end.
"""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict

from cqs.errors import RequestThrottled
from cqs.plural import counted, plural

DRAINING_WAIT_MS = 1_000


class Waiter:
    """One waiting receive: an event that can be set many times, without a task of its own."""

    __slots__ = ("_asleep", "_future", "account", "is_over", "is_woken")

    def __init__(self, asleep: OrderedDict[Waiter, None], account: str) -> None:
        self._asleep = asleep
        self._future: asyncio.Future[None] | None = None
        self.account = account
        self.is_over = False
        self.is_woken = False
        """It has a wake-up that no look was for yet."""

    async def wait(self, timeout_s: float) -> None:
        """Until woken or timed out. Cancelling it is safe."""
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
        """A wake-up, for the next look. Idempotent."""
        self.is_woken = True
        self.rouse()

    def rouse(self) -> None:
        """Ends the present wait, if there is one."""
        if self._future is not None and not self._future.done():
            self._future.set_result(None)


class _Line:
    """The waiters of one queue; those `asleep` have no wake-up yet, longest waiting first."""

    __slots__ = ("asleep", "broken", "passed_on", "promised", "waiters")

    def __init__(self) -> None:
        self.waiters: dict[Waiter, None] = {}
        self.asleep: OrderedDict[Waiter, None] = OrderedDict()
        self.promised = self.broken = self.passed_on = 0

    @property
    def spare(self) -> int:
        """How many of those asleep no call counts on."""
        return max(0, len(self.asleep) - self.promised)

    def wake(self, count: int) -> int:
        woken = min(count, len(self.asleep))
        for _ in range(woken):
            waiter, _none = self.asleep.popitem(last=False)
            waiter.wake()
        return woken


class Promise:
    """Waiters that a call counts on, see `cqs.cache.bells`: whoever else has a wake-up for the queue leaves as many
    asleep until it is released, and passes it on. Of those that the call did not need, the wake-ups passed on meanwhile
    wake some, since there may have been nobody else."""

    __slots__ = ("_line", "count")

    def __init__(self, line: _Line, count: int) -> None:
        self._line = line
        self.count = count
        line.promised += count

    def release(self) -> None:
        """Once."""
        line = self._line
        line.promised -= self.count
        line.broken = min(line.broken, line.promised)
        if not line.promised:
            passed_on, line.passed_on = line.passed_on, 0
            line.wake(passed_on)


class Waiters:
    """All waiting receives of this node, by queue uid."""

    def __init__(self, account_max: int | None = None) -> None:
        """`account_max`: how many of one account may wait at the same time."""
        self._lines: dict[int, _Line] = {}
        self._by_account: Counter[str] = Counter()
        self._account_max = account_max
        self._is_closed = False
        self.is_draining = False
        """Whether this node gives its receivers up to others; see `drain`."""

    def __len__(self) -> int:
        return sum(len(line.waiters) for line in self._lines.values())

    def __bool__(self) -> bool:
        return bool(self._lines)

    def queues(self) -> set[int]:
        """The uids of queues that somebody waits for."""
        return set(self._lines)

    def count(self, queue_uid: int) -> int:
        line = self._lines.get(queue_uid)
        return 0 if line is None else len(line.waiters)

    def asleep(self, queue_uid: int) -> int:
        """How many of them have not been woken."""
        line = self._lines.get(queue_uid)
        return 0 if line is None else len(line.asleep)

    def register(self, queue_uid: int, account: str = "") -> Waiter:
        """`account`: whose receive it is. Raises RequestThrottled when too many of the account wait already."""
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
        """Its time is over: it looks a last time, and what comes after that look is for others."""
        line = self._lines.get(queue_uid)
        if line is not None:
            line.asleep.pop(waiter, None)

    def leave(self, queue_uid: int, waiter: Waiter) -> bool:
        """Idempotent. What it leaves with, `is_woken`, is to be passed on, and so is what a call will have for it: True
        when one counts on it, which is for others then."""
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
        """Up to `count_max` of those asleep that no other call counts on; None = there is none."""
        line = self._lines.get(queue_uid)
        count = 0 if line is None else min(count_max, line.spare)
        return Promise(line, count) if line is not None and count else None

    def wake_spare(self, queue_uid: int, count: int) -> int:
        """As `wake`, but for those that a call counts on."""
        line = self._lines.get(queue_uid)
        if line is None:
            return 0
        woken = line.wake(min(count, line.spare))
        line.passed_on += min(count - woken, line.promised)
        return woken

    def wake_all(self, queue_uid: int) -> None:
        """What they look at is another one now: all look anew."""
        self.wake(queue_uid, self.count(queue_uid))

    def end_queue(self, queue_uid: int) -> None:
        """The queue is gone: its waiters look no more."""
        line = self._lines.get(queue_uid)
        for waiter in list(line.waiters) if line is not None else ():
            waiter.is_over = True
            waiter.rouse()

    def drain(self) -> None:
        """An operator takes the node out: everyone is answered now, and who comes later waits for DRAINING_WAIT_MS at
        most. Not for no time at all, or clients that nobody led elsewhere would ask without a pause. Idempotent."""
        self.is_draining = True
        for queue_uid in list(self._lines):
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
        for queue_uid in list(self._lines):
            self.end_queue(queue_uid)
