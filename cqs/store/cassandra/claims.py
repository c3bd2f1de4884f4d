"""Deduplication windows of FIFO queues, shared by all nodes.

                    claim (conditional write)      append: message and confirmation, one mutation
         no row ─────────────────────────► pending ───────────────────────────────────► confirmed ──► the window ends
            ▲        give up: fence, delete row │ not confirmed for PENDING_MS: its node is gone
            └───────────────────────────────────┤
                                                └─► taken over: fence, rewrite row (`cqs.store.cassandra.takeovers`)

The confirmation of a claim is not in its row but beside the message, in the message's own mutation: so it exists
exactly when the message was stored, and remains when the message is deleted. The fence is a delete of a message that
was never stored. It is stamped after the insert, so it wins even if the insert arrives later: a claim that was given up
or taken over can't result in a second message.

    node A (paused)                          node B, same id
    claims, pauses for a minute              waits PENDING_MS, fences A's address, takes over, appends
    resumes, appends: fenced off             …
    notices the delay, checks: not there;
    outcome unknown to its client,
    whose retry gets B's answer

Within a process, calls wait for each other's appends; for those of other nodes they poll every POLL_S.

Nothing is decided about a claim whose window is over: its confirmation ends soon after, and by that alone, a message
that was found and acknowledged although its append had no answer could not be told from one that was never stored.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from cqs.clock import Clock
from cqs.errors import CqsError, OutcomeUnknown, StoreUnavailable
from cqs.queue import Queue
from cqs.store.cassandra import claim_rows
from cqs.store.cassandra.claim_plan import Call, Refused
from cqs.store.cassandra.claim_rows import Id
from cqs.store.cassandra.claimer import Claimer
from cqs.store.cassandra.session import Session
from cqs.store.cassandra.takeovers import CONFIRMED_MARGIN_MS, PENDING_MS, SKEW_MS_MAX, Ruling, Takeovers
from cqs.store.interface import Claim, Wanted
from cqs.store.settling import Settling

APPEND_MS_MAX = 8_000
POLL_S = 0.05


class _Pending(Settling):
    """A new claim of this process whose message is not stored yet."""

    __slots__ = ("address", "claimed_ms", "is_doubtful", "key", "queue", "settling", "window_ms")

    def __init__(self, queue: Queue, key: Id, address: int, claimed_ms: int, window_ms: int) -> None:
        super().__init__()
        self.queue = queue
        self.key = key
        self.address = address
        self.claimed_ms = claimed_ms
        self.window_ms = window_ms
        self.is_doubtful = False
        self.settling: asyncio.Task[None] | None = None


class Claims:
    """Belongs to one event loop."""

    def __init__(self, session: Session, takeovers: Takeovers, clock: Clock) -> None:
        self._session = session
        self._takeovers = takeovers
        self._clock = clock
        self._claimer = Claimer(session, takeovers, clock)
        self._pending: dict[tuple[int, Id], _Pending] = {}
        self._by_address: dict[int, _Pending] = {}

    def __len__(self) -> int:
        """How many claims of this process are pending."""
        return len(self._by_address)

    async def claim(self, queue: Queue, wanted: Sequence[Wanted], window_ms: int) -> list[Claim]:
        """See `MessageStore.claim`."""
        while True:
            blocker = self._blocker(queue.storage_id, wanted)
            if blocker is not None:
                if blocker.is_doubtful:
                    await self._settle_doubt(blocker)
                else:
                    await blocker.settled()
                continue
            asked_ms = self._clock.now_ms()
            answer = await self._claimer.claim(Call(queue, wanted, window_ms))
            if answer is Refused.BY_THIS_PROCESS:
                continue
            if isinstance(answer, Refused):
                await asyncio.sleep(POLL_S)
                continue
            return self._keep(queue, wanted, answer, window_ms, asked_ms)

    def _keep(
        self, queue: Queue, wanted: Sequence[Wanted], claims: list[Claim], window_ms: int, asked_ms: int
    ) -> list[Claim]:
        """Dates claims from before the call, as other nodes count from the time in the row."""
        self._forget_over()
        for wish, claim in zip(wanted, claims, strict=True):
            if claim.is_new and wish.dedup_id and wish.address not in self._by_address:
                key = (wish.scope, wish.dedup_id)
                pending = _Pending(queue, key, wish.address, asked_ms, window_ms)
                self._pending[queue.storage_id, key] = self._by_address[wish.address] = pending
        return claims

    def _forget_over(self) -> None:
        while (oldest := next(iter(self._by_address.values()), None)) is not None and self._is_over(oldest):
            self._forget(oldest)

    def _is_over(self, pending: _Pending) -> bool:
        return self._clock.now_ms() - pending.claimed_ms >= pending.window_ms

    def _blocker(self, storage_id: int, wanted: Sequence[Wanted]) -> _Pending | None:
        for wish in wanted:
            pending = self._pending.get((storage_id, (wish.scope, wish.dedup_id))) if wish.dedup_id else None
            if pending is not None and pending.address != wish.address:
                return pending
        return None

    def begin_append(self, addresses: Sequence[int]) -> int:
        """Call before the messages are stored. Returns how long confirmations must live, in seconds; 0 = write none.
        Raises StoreUnavailable when a claim is so old that another node may be taking it over."""
        window_ms = 0
        for address in addresses:
            pending = self._by_address.get(address)
            if pending is None:
                continue
            if self._clock.now_ms() - pending.claimed_ms > APPEND_MS_MAX:
                raise StoreUnavailable("The message waited too long to be stored. Nothing was written.")
            pending.is_doubtful = False
            window_ms = max(window_ms, pending.window_ms)
        return (window_ms + CONFIRMED_MARGIN_MS) // 1_000 if window_ms else 0

    async def end_append(self, addresses: Sequence[int]) -> None:
        """The messages are stored. Raises OutcomeUnknown when that took so long that they may have been fenced off."""
        held = [pending for address in addresses if (pending := self._by_address.get(address)) is not None]
        oldest_ms = min((pending.claimed_ms for pending in held), default=self._clock.now_ms())
        if self._clock.now_ms() - oldest_ms > PENDING_MS - SKEW_MS_MAX:
            certain = await self._takeovers.certain(held[0].queue, [pending.address for pending in held])
            if len(certain) < len(held):
                raise OutcomeUnknown("The message took so long to be stored that its deduplication id was taken over.")
        for pending in held:
            self._forget(pending)

    def doubt(self, addresses: Sequence[int]) -> None:
        """It is unknown whether the messages are stored: the next caller that wants the id asks the store."""
        for address in addresses:
            pending = self._by_address.get(address)
            if pending is not None:
                pending.is_doubtful = True
                pending.wake()

    async def release(self, addresses: Sequence[int]) -> None:
        """Gives up claims that are pending here and whose message was not stored. Raises StoreUnavailable; they are
        then in doubt."""
        self.doubt(addresses)
        for address in addresses:
            pending = self._by_address.get(address)
            if pending is not None:
                await self._settle_doubt(pending)

    async def close(self) -> None:
        """Gives up all pending claims, as far as the store can be reached, and wakes all callers that wait."""
        held = list(self._by_address.values())
        await asyncio.gather(*[self._settle_doubt(pending) for pending in held], return_exceptions=True)
        for pending in held:
            self._forget(pending)

    async def _settle_doubt(self, pending: _Pending) -> None:
        """Settles it once for all callers, so that they continue in the order in which they came."""
        if pending.settling is None:
            pending.settling = asyncio.ensure_future(self._settle(pending))
        try:
            await asyncio.shield(pending.settling)
        finally:
            pending.settling = None

    async def _settle(self, pending: _Pending) -> None:
        if self._is_over(pending):
            self._forget(pending)
            return
        ruling = await self._takeovers.rule(pending.queue, pending.address, pending.address)
        if ruling is Ruling.UNDECIDED:
            raise StoreUnavailable(
                "An earlier send with this deduplication id is not decided yet. Nothing was written."
            )
        if ruling is Ruling.FENCED:
            await self._give_up(pending)
        self._forget(pending)

    async def _give_up(self, pending: _Pending) -> None:
        write = claim_rows.give_up(pending.queue, pending.key, pending.address)
        try:
            await self._session.decide([write])
        except OutcomeUnknown:
            try:
                await self._session.decide([write])
            except CqsError as error:
                raise StoreUnavailable(f"A claim could not be given up. {error}") from error

    def _forget(self, pending: _Pending) -> None:
        if self._by_address.get(pending.address) is pending:
            del self._by_address[pending.address]
            del self._pending[pending.queue.storage_id, pending.key]
        pending.wake()
