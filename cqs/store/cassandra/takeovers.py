"""Decides whether a FIFO message of unknown outcome counts as stored, so that nobody hands out one that does not.

An append that failed in part may have left its message on a minority of the replicas. One quorum then finds the
message, another does not find its confirmation, and whoever takes its claim over may fence off a message that a cache
already hands out. So both sides write before they read; each write is on a quorum, hence at least one sees the other's:

    reader (fills or repairs a cache)                taker (wants the deduplication id)
    ─────────────────────────────────                ──────────────────────────────────
    finds the message
    makes sure of its confirmation                   puts up a notice (conditional: there is one taker)
    a notice? none: hands the message out            confirmed? yes: takes the notice down, the message is the answer
              yes: waits for the decision                       no: fences the message off, takes the claim

A taker may die at any line. Its notice is PENDING_MS old then, and anybody may fence the message off: it was never
acknowledged. A taker that accepts a message instead must have taken its notice down before that.

Notices are rows of claims, in a scope that is no group's name, so that they are written as conditionally as claims are.
They stay for a while after the fence, for readers that found the message before it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from enum import Enum

from cqs import ids
from cqs.clock import Clock
from cqs.errors import OutcomeUnknown
from cqs.limits import DEDUP_WINDOW_MS
from cqs.queue import Queue
from cqs.store.cassandra import claim_rows
from cqs.store.cassandra.claim_rows import Found, Id, Take
from cqs.store.cassandra.decisions import decide
from cqs.store.cassandra.messages import Messages
from cqs.store.cassandra.session import Session
from cqs.store.interface import Wanted

PENDING_MS = 15_000
"""How long a claim or a notice is left to the node that made it."""
SKEW_MS_MAX = 10_000
"""Maximum clock skew between two nodes that accept messages."""
CONFIRMED_MARGIN_MS = 600_000
"""How much longer than its window a confirmation is kept."""
YOUNG_MS = DEDUP_WINDOW_MS + 2 * PENDING_MS + SKEW_MS_MAX
"""Older messages have no claim that could be taken over: its window has ended."""
POLL_S = 0.05


class Ruling(Enum):
    """What was decided about a message."""

    STORED = 1
    FENCED = 2
    UNDECIDED = 3


class Takeovers:
    """Belongs to one event loop."""

    def __init__(self, session: Session, messages: Messages, clock: Clock) -> None:
        self._session = session
        self._messages = messages
        self._clock = clock

    async def seen(self, queue: Queue, addresses: Sequence[int]) -> tuple[set[int], dict[int, Found]]:
        """Those that are confirmed, and those with a notice."""
        keys = {_key(address): address for address in addresses}
        confirmed, rows = await asyncio.gather(
            self._messages.confirmed(queue.storage_id, addresses), claim_rows.read(self._session, queue, list(keys))
        )
        return confirmed, {keys[key]: row for key, row in rows.items()}

    async def rule(self, queue: Queue, address: int, by: int) -> Ruling:
        """Decides about a message whose claim is old, or of this process. `by` names the taker: an address of its own.
        UNDECIDED while another taker may be at work. Raises StoreUnavailable, OutcomeUnknown: call it again."""
        confirmed, notices = await self.seen(queue, [address])
        notice = notices.get(address)
        if notice is None:
            return Ruling.STORED if confirmed else await self._take(queue, address, by)
        if self._clock.now_ms() - notice.claimed_ms < PENDING_MS:
            return Ruling.UNDECIDED
        return await self._fence(queue, address)

    async def certain(self, queue: Queue, addresses: Sequence[int]) -> set[int]:
        """Those of the messages found in the store that will not be fenced off any more. Waits for takers at work;
        idempotent. Raises StoreUnavailable, OutcomeUnknown."""
        young_ms = self._clock.now_ms() - YOUNG_MS
        young = [address for address in addresses if ids.ms_of(address) > young_ms]
        if not young:
            return set(addresses)
        unconfirmed = set(young) - await self._messages.confirmed(queue.storage_id, young)
        if unconfirmed:
            kept_s = (DEDUP_WINDOW_MS + CONFIRMED_MARGIN_MS) // 1_000
            await self._messages.confirm(queue.storage_id, sorted(unconfirmed), kept_s)
        noticed = await self._noticed(queue)
        doubtful = [address for address in young if address in noticed]
        remain = await asyncio.gather(*[self._remains(queue, address) for address in doubtful])
        return set(addresses) - {address for address, it in zip(doubtful, remain, strict=True) if not it}

    async def _take(self, queue: Queue, address: int, by: int) -> Ruling:
        began_ms = self._clock.now_ms()
        if not await self._put_up(queue, address, by, began_ms):
            return Ruling.UNDECIDED
        if not await self._messages.confirmed(queue.storage_id, [address]):
            return await self._fence(queue, address)
        if self._clock.now_ms() - began_ms > PENDING_MS - SKEW_MS_MAX:
            return Ruling.UNDECIDED
        try:
            is_down = (await self._session.decide([claim_rows.give_up(queue, _key(address), by)])).is_applied
        except OutcomeUnknown:
            return Ruling.UNDECIDED
        return Ruling.STORED if is_down else Ruling.UNDECIDED

    async def _put_up(self, queue: Queue, address: int, by: int, now_ms: int) -> bool:
        """Whether the notice is this call's own."""
        key = _key(address)

        async def is_ours() -> bool:
            found = (await claim_rows.read(self._session, queue, [key])).get(key)
            return found is not None and (found.address, found.claimed_ms) == (by, now_ms)

        notice = Take(Wanted(*key, by), 0, now_ms, None)
        is_up, _ = await decide(self._session, [claim_rows.take(queue, notice, now_ms)], is_ours)
        return is_up

    async def _fence(self, queue: Queue, address: int) -> Ruling:
        await self._messages.delete(queue.storage_id, [address], is_unsaid=True)
        return Ruling.FENCED

    async def _noticed(self, queue: Queue) -> set[int]:
        return {address for key in await claim_rows.keys_in(self._session, queue, _NOTICES) if (address := _of(key))}

    async def _remains(self, queue: Queue, address: int) -> bool:
        """Whether a message with a notice is still there once the notice is down, or too old."""
        key = _key(address)
        while True:
            notice = (await claim_rows.read(self._session, queue, [key])).get(key)
            if not await self._messages.existing(queue.storage_id, [address]):
                return False
            if notice is None:
                return True
            if self._clock.now_ms() - notice.claimed_ms >= PENDING_MS:
                await self._fence(queue, address)
                return False
            await asyncio.sleep(POLL_S)


_NOTICES = "\x00notices"
"""Group names have no control characters."""


def _key(address: int) -> Id:
    return _NOTICES, ids.text_of(address)


def _of(key: Id) -> int | None:
    return ids.parse(key[1])
