"""Deduplication windows and sequence numbers of FIFO queues, in memory. The durable backends write confirmed claims
together with their messages, and load them again at start.

                      claim (the id is free)           append is durable
          unknown ─────────────────────────► pending ────────────────────► confirmed ──► unknown (the window ends)
             ▲          release                 │  ▲                           ▲
             └──────────────────────────────────┘  │ outcome unknown           │ the store has the message
                                                   ▼                           │ (or had it: it was deleted since)
                                                doubtful ──────────────────────┘
                                                   └───► unknown (the store never had it: taken over)

A claim of a pending id waits. If a call could wait for one id while holding another, two batches could deadlock; so a
call first waits until none of its ids is pending elsewhere, and then takes all of them in one step.

Windows are measured by a time that stands still while the clock is set back. By the clock itself, ids used while it was
a day ahead would swallow the sends of a day, and all later windows would be kept behind theirs.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Sequence

from msgspec import structs

from cqs import limits
from cqs.clock import Clock
from cqs.queue import GENERATION_BITS, Queue
from cqs.store.interface import Claim, Wanted
from cqs.store.settling import Settling
from cqs.store.windows import Expired, Held, Key

SEQUENCE_MS_SHIFT = 20
EXPIRED_BATCH_MAX = 256


class _Pending(Settling):
    """A claim whose append has not been confirmed."""

    __slots__ = ("held", "is_doubtful", "key")

    def __init__(self, key: Key, held: Held) -> None:
        super().__init__()
        self.key = key
        self.held = held
        self.is_doubtful = False


class Claims:
    """All deduplication windows and sequences of the process. Belongs to the event loop's thread."""

    def __init__(self, clock: Clock, find_stored: Callable[[int, Sequence[int]], Awaitable[set[int]]]) -> None:
        """`find_stored(storage_id, addresses)` returns the messages that the store has, or had; it is called only for
        doubtful ones."""
        self._clock = clock
        self._find_stored = find_stored
        self._confirmed: dict[Key, Held] = {}
        self._oldest: deque[tuple[Key, Held]] = deque()
        """All windows in the store, in order of expiry; a reused id may have two of them."""
        self._pending: dict[Key, _Pending] = {}
        self._pending_by_address: dict[int, _Pending] = {}
        self._last_sequence: dict[int, int] = {}
        self._latest_ms = self._ahead_ms = 0
        """The highest `_now_ms` so far, and how far it is ahead of the clock."""

    def __len__(self) -> int:
        return len(self._confirmed) + len(self._pending)

    async def claim(self, queue: Queue, wanted: Sequence[Wanted], window_ms: int) -> list[Claim]:
        """See `MessageStore.claim`. Raises what `find_stored` raises, having claimed nothing."""
        while (blocker := self._blocker(queue.storage_id, wanted)) is not None:
            if blocker.is_doubtful:
                await self._resolve(blocker)
            else:
                await blocker.settled()
        expires_ms = self._now_ms() + window_ms
        return [self._claim_one(queue, wish, expires_ms) for wish in wanted]

    def _blocker(self, storage_id: int, wanted: Sequence[Wanted]) -> _Pending | None:
        for wish in wanted:
            pending = self._pending.get((storage_id, wish.scope, wish.dedup_id)) if wish.dedup_id else None
            if pending is not None and pending.held.address != wish.address:
                return pending
        return None

    async def _resolve(self, pending: _Pending) -> None:
        address = pending.held.address
        stored = await self._find_stored(pending.key[0], [address])
        if not pending.is_doubtful or self._pending.get(pending.key) is not pending:
            return
        if address in stored:
            self.confirm([address])
        else:
            self.release([address])

    def _claim_one(self, queue: Queue, wish: Wanted, expires_ms: int) -> Claim:
        if not wish.dedup_id:
            return Claim(wish.address, self._next_sequence(queue.uid), True)
        key = (queue.storage_id, wish.scope, wish.dedup_id)
        pending = self._pending.get(key)
        if pending is not None:
            held = pending.held
            return Claim(held.address, held.sequence, held.address == wish.address)
        known = self._confirmed.get(key)
        if known is not None and known.expires_ms > self._now_ms():
            return Claim(known.address, known.sequence, False)
        held = Held(wish.address, self._next_sequence(queue.uid), expires_ms)
        self._pending[key] = self._pending_by_address[wish.address] = _Pending(key, held)
        return Claim(held.address, held.sequence, True)

    def _next_sequence(self, queue_uid: int) -> int:
        sequence = max(self._last_sequence.get(queue_uid, 0) + 1, self._clock.now_ms() << SEQUENCE_MS_SHIFT)
        self._last_sequence[queue_uid] = sequence
        return sequence

    def pending(self, addresses: Iterable[int]) -> list[tuple[Key, Held]]:
        """The claims to write in the same commit as these messages, whose append begins now."""
        found = [self._pending_by_address.get(address) for address in addresses]
        for pending in found:
            if pending is not None:
                pending.is_doubtful = False
        return [(pending.key, pending.held) for pending in found if pending is not None]

    def confirm(self, addresses: Iterable[int]) -> None:
        """The messages are durable: callers that wait get them as the answer. Ignores addresses that are not
        pending."""
        for address in addresses:
            pending = self._pending_by_address.pop(address, None)
            if pending is not None:
                del self._pending[pending.key]
                self._confirmed[pending.key] = pending.held
                self._oldest.append((pending.key, pending.held))
                pending.wake()

    def doubt(self, addresses: Iterable[int]) -> None:
        """It is unknown whether the messages are stored: the next caller that wants the id asks the store."""
        for address in addresses:
            pending = self._pending_by_address.get(address)
            if pending is not None:
                pending.is_doubtful = True
                pending.wake()

    def release(self, addresses: Iterable[int]) -> None:
        """Nothing was stored: the ids are free. Ignores addresses that are not pending."""
        for address in addresses:
            pending = self._pending_by_address.pop(address, None)
            if pending is not None:
                del self._pending[pending.key]
                pending.wake()

    def release_all(self) -> None:
        """Called when the store closes, so that nobody waits forever."""
        self.release(list(self._pending_by_address))

    def load(self, key: Key, held: Held) -> None:
        """Adds a confirmed claim read from the store; call in order of expiry."""
        held = structs.replace(held, expires_ms=min(held.expires_ms, self._now_ms() + limits.DEDUP_WINDOW_MS))
        self._confirmed[key] = held
        self._oldest.append((key, held))

    def raise_sequence(self, queue_uid: int, sequence: int) -> None:
        """From now on, only sequences above this one are issued in the queue."""
        self._last_sequence[queue_uid] = max(self._last_sequence.get(queue_uid, 0), sequence)

    def forget(self, queue_uid: int) -> None:
        """The queue was deleted: its sequences need not be remembered."""
        self._last_sequence.pop(queue_uid, None)

    def pop_expired(self) -> Expired:
        """Forgets up to EXPIRED_BATCH_MAX windows that have ended."""
        addresses: list[int] = []
        sequences: dict[int, int] = {}
        now_ms = self._now_ms()
        while self._oldest and len(addresses) < EXPIRED_BATCH_MAX:
            key, held = self._oldest[0]
            if held.expires_ms > now_ms:
                break
            self._oldest.popleft()
            if self._confirmed.get(key) is held:
                del self._confirmed[key]
            addresses.append(held.address)
            queue_uid = key[0] >> GENERATION_BITS
            if queue_uid in self._last_sequence:
                sequences[queue_uid] = self._last_sequence[queue_uid]
        return Expired(addresses, sequences)

    def _now_ms(self) -> int:
        """The clock's time plus what it has been set back by."""
        now_ms = self._clock.now_ms() + self._ahead_ms
        self._ahead_ms += max(0, self._latest_ms - now_ms)
        self._latest_ms = max(self._latest_ms, now_ms)
        return self._latest_ms
