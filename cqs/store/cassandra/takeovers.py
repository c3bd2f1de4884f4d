"""Decides whether a FIFO message of unknown outcome counts as stored, so that nobody hands out one that does not.

An append that failed in part may have left its message on a minority of the replicas. One quorum then finds the
message, another does not find its confirmation, and whoever takes its claim over may fence off a message that a cache
already hands out. So both sides write before they read; each write is on a quorum, hence at least one sees the other's:

    reader (fills or repairs a cache)                taker (wants the deduplication id)
    ─────────────────────────────────                ──────────────────────────────────
    finds the message
    makes sure of its confirmation                   puts up a notice
    a notice? none: hands the message out            confirmed? yes: takes its notice down; the message is the answer
              its notice: takes it down, hands out              no: makes the notice final, fences the message off,
              final: fences the message off                         takes the claim

Notices change by conditional writes, so of a reader that takes one down and a taker that makes it final one succeeds.
The other begins anew. So wherever a node pauses or dies, anybody can go on, and no message is both handed out and
fenced off. Only a taker that meets the notice of another one waits, for PENDING_MS, lest two hinder each other.

Notices are rows of claims, in a scope that is no group's name. Final ones stay for some minutes, for readers that found
the message before the fence.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from enum import Enum

from cqs import ids
from cqs.clock import Clock
from cqs.errors import CqsError
from cqs.limits import DEDUP_WINDOW_MS
from cqs.message import Message
from cqs.queue import Queue
from cqs.store.cassandra import claim_rows
from cqs.store.cassandra.claim_rows import Found, Id, Take
from cqs.store.cassandra.cluster import REPLICAS
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
SEEK_S = 0.5
"""A quorum that includes a replica with the message finds it, so a replica that does not answer is not waited for."""
FINAL = 0
"""Stands for the taker of a notice that is final: no message has this address."""


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
        """Those that are confirmed, and those with a notice. In this order: a read confirmation is on a quorum, and no
        notice that is put up after that becomes final."""
        confirmed = await self._messages.confirmed(queue.storage_id, addresses)
        return confirmed, await self._notices(queue, addresses)

    async def _notices(self, queue: Queue, addresses: Sequence[int]) -> dict[int, Found]:
        keys = {_key(address): address for address in addresses}
        rows = await claim_rows.read(self._session, queue, list(keys))
        return {keys[key]: row for key, row in rows.items()}

    async def rule(self, queue: Queue, address: int, by: int) -> Ruling:
        """Decides about a message whose claim is old, or of this process. `by` names the taker: an address of its own.
        UNDECIDED while another one may be at work. Raises StoreUnavailable, OutcomeUnknown: call it again."""
        confirmed, notices = await self.seen(queue, [address])
        notice = notices.get(address)
        if notice is None and confirmed:
            return Ruling.STORED
        if notice is not None and notice.address == FINAL:
            return await self._fence(queue, address)
        if notice is None or notice.address != by:
            if notice is not None and self._clock.now_ms() - notice.claimed_ms < PENDING_MS:
                return Ruling.UNDECIDED
            if not await self._write(queue, address, by, notice):
                return Ruling.UNDECIDED
        if await self._messages.confirmed(queue.storage_id, [address]):
            return Ruling.STORED if await self._take_down(queue, address, by) else Ruling.UNDECIDED
        if not await self._write(queue, address, FINAL, Found(by, 0, 0, 0)):
            return Ruling.UNDECIDED
        return await self._fence(queue, address)

    async def certain(self, queue: Queue, addresses: Sequence[int]) -> set[int]:
        """Those of the messages found in the store that will not be fenced off any more. Idempotent. Raises
        StoreUnavailable, OutcomeUnknown."""
        young = self._young(addresses)
        if not young:
            return set(addresses)
        unconfirmed = set(young) - await self._messages.confirmed(queue.storage_id, young)
        if unconfirmed:
            kept_s = (DEDUP_WINDOW_MS + CONFIRMED_MARGIN_MS) // 1_000
            await self._messages.confirm(queue.storage_id, sorted(unconfirmed), kept_s)
        noticed = {_address_of(key) for key in await claim_rows.keys_in(self._session, queue, _NOTICES)}
        doubtful = [address for address in young if address in noticed]
        are_kept = await asyncio.gather(*[self._keep(queue, address) for address in doubtful])
        return set(addresses) - {address for address, is_kept in zip(doubtful, are_kept, strict=True) if not is_kept}

    async def seek(self, queue: Queue, addresses: Sequence[int]) -> list[Message]:
        """Messages that count as stored and that a quorum did not find, if all replicas answer in time: one may have
        the message alone, and it is copied to the others. Most such messages have been deleted. Never raises."""
        young = self._young(addresses)
        with contextlib.suppress(CqsError, TimeoutError):
            async with asyncio.timeout(SEEK_S):
                return await self._messages.read(queue.storage_id, young, REPLICAS)
        return []

    def _young(self, addresses: Sequence[int]) -> list[int]:
        young_ms = self._clock.now_ms() - YOUNG_MS
        return [address for address in addresses if ids.ms_of(address) > young_ms]

    async def _keep(self, queue: Queue, address: int) -> bool:
        """Takes down the notice of a confirmed message; False if it is final."""
        while True:
            notice = (await self._notices(queue, [address])).get(address)
            if notice is None:
                return True
            if notice.address == FINAL:
                await self._fence(queue, address)
                return False
            if await self._take_down(queue, address, notice.address):
                return True

    async def _write(self, queue: Queue, address: int, by: int, old: Found | None) -> bool:
        """Puts a notice up, or into the place of `old`. False if that is not there, or not any more."""
        now_ms = self._clock.now_ms()

        async def is_ours() -> bool:
            notice = (await self._notices(queue, [address])).get(address)
            return notice is not None and (notice.address, notice.claimed_ms) == (by, now_ms)

        notice = Take(Wanted(*_key(address), by), 0, now_ms, old)
        return (await decide(self._session, [claim_rows.take(queue, notice, now_ms)], is_ours))[0]

    async def _take_down(self, queue: Queue, address: int, by: int) -> bool:
        return (await self._session.decide([claim_rows.give_up(queue, _key(address), by)])).is_applied

    async def _fence(self, queue: Queue, address: int) -> Ruling:
        await self._messages.delete(queue.storage_id, [address], is_unsaid=True)
        return Ruling.FENCED


_NOTICES = "\x00notices"
"""Group names have no control characters."""


def _key(address: int) -> Id:
    return _NOTICES, ids.text_of(address)


def _address_of(key: Id) -> int | None:
    return ids.parse(key[1])
