"""The cache's operations on one queue shard in memory. Each is one atomic step: it neither awaits nor fails half-way.
The exception is `peek`, which changes nothing and pauses in a big shard.

Receive numbers start at the seconds since 2020, shifted, so they fit in 53 bits and a refilled shard never repeats one.
"""

from __future__ import annotations

from collections.abc import Sequence

from cqs.cache.bodies import BodyBudget
from cqs.cache.counts import Counts
from cqs.cache.entry import Entry, State
from cqs.cache.interface import (
    DEAD_BATCH_MAX,
    DEAD_LEASE_MS,
    Outcome,
    Received,
    Residency,
    Revealed,
    Shard,
    Taken,
    TakeRequest,
    Ticket,
)
from cqs.cache.ledger import Ledger
from cqs.cache.page import Page
from cqs.cache.peek import page_of
from cqs.cache.replays import Replays
from cqs.cache.vesting import NEVER_MS, VestingIndex

EXPIRED_BATCH_MAX = 1_000
"""A take drops at most this many messages past their retention."""


class MemoryShard:
    """All state of one shard. `now_ms` of every call is the cache's time."""

    __slots__ = ("_ledger", "_replays", "epoch", "removed", "residency", "shard")

    def __init__(
        self, shard: Shard, epoch: int, number: int, retention_ms: int, bodies: BodyBudget, vesting: VestingIndex
    ) -> None:
        self.shard = shard
        self.epoch = epoch
        self.residency = Residency.INITIALIZING
        self.removed: set[int] = set()
        """Addresses removed during the fill."""
        self._ledger = Ledger(shard, number, retention_ms, bodies, vesting)
        self._replays: Replays | None = None

    @property
    def number(self) -> int:
        """The last receive number issued."""
        return self._ledger.number

    def knows(self, address: int) -> bool:
        return address in self._ledger.entries

    def see(self, entry: Entry) -> None:
        """Makes later takes use higher numbers than the entry's lease, even if the entry itself is then skipped."""
        self._ledger.number = max(self._ledger.number, entry.receive_number)

    def put(self, entry: Entry, now_ms: int) -> None:
        """Adds a message that is not known yet."""
        ledger = self._ledger
        if entry.visible_ms <= now_ms:
            ledger.add_ready(entry, now_ms)
        elif entry.state is State.IN_FLIGHT:
            ledger.add_in_flight(entry, now_ms)
        else:
            ledger.add_delayed(entry)

    def fill(self, entry: Entry, now_ms: int) -> None:
        """Adds a message from the store that is not known yet."""
        ledger = self._ledger
        ledger.number = max(ledger.number, entry.receive_number)
        if entry.visible_ms <= now_ms and self.residency is Residency.INITIALIZING:
            ledger.add_filled(entry, now_ms)
        else:
            self.put(entry, now_ms)

    def end_fill(self) -> None:
        """Idempotent."""
        if self.residency is Residency.INITIALIZING:
            self._ledger.line.end_fill()
            self._ledger.settle()
            self.residency = Residency.READY

    def take(self, request: TakeRequest, now_ms: int) -> Taken:
        ledger = self._ledger
        ledger.set_retention(request.retention_ms)
        if request.request_id and self._replays is not None:
            repeated = self._replays.repeat(request, now_ms)
            if repeated:
                return Taken(received=repeated)
        room = min(request.count_max, request.in_flight_max - ledger.in_flight)
        if self.residency is not Residency.READY or not ledger.ready or room <= 0:
            return Taken(received=[], residency=self.residency, is_over_limit=ledger.in_flight >= request.in_flight_max)
        taken = self._take(request, room, now_ms)
        if request.visibility_ms <= 0:
            self._come_back([ledger.entries[received.address] for received in taken.received], now_ms)
        elif request.request_id and taken.received:
            self._replays = self._replays or Replays(ledger)
            self._replays.keep(request, taken.received, now_ms)
        return taken

    def hide(self, ticket: Ticket, until_ms: int, now_ms: int) -> Outcome:
        ledger = self._ledger
        entry = ledger.entries.get(ticket.address)
        if entry is None:
            return Outcome.GONE
        if self.shard.is_fifo:
            has_right = ledger.living(ticket, now_ms) is not None
        else:
            has_right = 0 < entry.receive_number == ticket.receive_number
        if not has_right:
            return Outcome.STALE
        if self._replays is not None:
            self._replays.void(ticket.receive_number)
        if until_ms <= now_ms:
            if entry.state is State.IN_FLIGHT:
                self._come_back([entry], now_ms)
        elif entry.state is State.READY:
            ledger.lease_again(entry, until_ms, now_ms)
        else:
            ledger.hide(entry, until_ms)
        return Outcome.DONE

    def fence(self, ticket: Ticket, hold_ms: int, now_ms: int) -> Outcome:
        ledger = self._ledger
        entry = ledger.living(ticket, now_ms)
        if entry is None:
            return Outcome.STALE if ticket.address in ledger.entries else Outcome.GONE
        if entry.visible_ms < now_ms + hold_ms:
            ledger.hide(entry, now_ms + hold_ms)
        return Outcome.DONE

    def give_back(self, tickets: Sequence[Ticket], now_ms: int) -> int:
        count = 0
        for ticket in reversed(tickets):
            entry = self._ledger.living(ticket, now_ms)
            if entry is not None:
                self._ledger.undo(entry, now_ms)
                count += 1
        return count

    def remove(self, addresses: Sequence[int], now_ms: int) -> int:
        ledger = self._ledger
        count = 0
        for address in addresses:
            entry = ledger.entries.get(address)
            if entry is not None:
                ledger.remove(entry, now_ms)
                count += 1
        return count

    def reveal(self, retention_ms: int, limit: int, now_ms: int) -> Revealed:
        ledger = self._ledger
        ledger.set_retention(retention_ms)
        due: list[Entry] = []
        expired: list[int] = []
        while len(due) + len(expired) < limit:
            entry = ledger.due.first()
            if entry is None or entry.visible_ms > now_ms:
                break
            if entry.sent_ms + retention_ms <= now_ms:
                expired.append(entry.address)
                ledger.remove(entry, now_ms)
            else:
                due.append(entry)
                ledger.unhide(entry, now_ms)
        ledger.line_up(due, now_ms)
        while len(due) + len(expired) < limit:
            head = ledger.line.head()
            if head is None or head.sent_ms + retention_ms > now_ms:
                break
            expired.append(head.address)
            ledger.remove(head, now_ms)
        return Revealed(len(due), expired, ledger.settle())

    def redelay(self, delay_ms: int, now_ms: int) -> None:
        ledger = self._ledger
        delayed = [entry for entry in ledger.due.hidden() if entry.state is State.DELAYED]
        due: list[Entry] = []
        for entry in sorted(delayed, key=lambda entry: entry.address):
            if entry.sent_ms + delay_ms > now_ms:
                ledger.hide(entry, entry.sent_ms + delay_ms)
            else:
                due.append(entry)
        self._come_back(due, now_ms)

    async def peek(self, state: State, after: int | None, limit: int) -> Page:
        entries = self._ledger.entries
        among = list(entries) if state is State.READY else [entry.address for entry in self._ledger.due.hidden()]
        return await page_of(entries, among, state, after, limit)

    def lookup(self, addresses: Sequence[int]) -> list[Entry | None]:
        return [self._ledger.entries.get(address) for address in addresses]

    def counts(self, now_ms: int) -> Counts:
        ledger = self._ledger
        oldest = ledger.line.oldest()
        return Counts(
            ready=ledger.ready,
            in_flight=ledger.in_flight,
            delayed=ledger.delayed,
            oldest_ms=None if oldest is None else oldest.sent_ms,
            groups_in_flight=ledger.line.groups_in_flight,
            noisy_groups=ledger.line.noisy_groups(now_ms),
        )

    def close(self) -> dict[int, Entry]:
        """See `Ledger.close`."""
        return self._ledger.close()

    def _take(self, request: TakeRequest, room: int, now_ms: int) -> Taken:
        ledger, line = self._ledger, self._ledger.line
        received: list[Received] = []
        dead: list[Received] = []
        expired: list[int] = []
        sent_max_ms = now_ms - request.retention_ms
        until_ms = now_ms + request.visibility_ms
        receive_count_max = request.receive_count_max or NEVER_MS
        line.open_turn()
        while len(received) < room and len(dead) < DEAD_BATCH_MAX and len(expired) < EXPIRED_BATCH_MAX:
            entry = line.next(now_ms)
            if entry is None:
                break
            if entry.sent_ms <= sent_max_ms:
                expired.append(entry.address)
                ledger.remove_next(entry)
            elif entry.receive_count >= receive_count_max:
                dead.append(ledger.lease(entry, now_ms + DEAD_LEASE_MS, now_ms))
            else:
                entry.receive_count += 1
                entry.first_receive_ms = entry.first_receive_ms or now_ms
                received.append(ledger.lease(entry, until_ms, now_ms))
        line.close_turn()
        return Taken(received=received, dead=dead, expired=expired)

    def _come_back(self, entries: Sequence[Entry], now_ms: int) -> None:
        for entry in entries:
            self._ledger.unhide(entry, now_ms)
        self._ledger.line_up(entries, now_ms)
