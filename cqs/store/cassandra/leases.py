"""Leases: what was received, until when it is hidden, and how often that has happened.

    lease, unexpired ──► leases, by queue and minute of expiry ─────────────────────┐ read: the unexpired minutes
              │                     (ends by TTL)                                   ├──► the newest of a message
              └─► keeper: waits in memory ── expired, message still there ─────┐    │
    lease that has ended (visibility 0, given back) ───────────────────────────┴──► receives, beside the messages
                                                                                     (kept as long as the message)

Receives of one queue at one moment expire in the same minute, so they are one mutation; and a message that is deleted
in time, as most are, costs nothing more. The newest lease is the one with the highest receive number and, for equal
numbers, the one handed to a store last, which is its stamp. The stamp is needed because writes may be late, as the
keeper's are:

    node A, which received m             node B                        without the stamp
    ────────────────────────             ──────
    handed: m until 1:30, in the keeper
                                         handed: m until 10:00
    2:02 the minute is over, m still
    exists: writes "m until 1:30"                                      the newest of m has expired: m is handed out
                                                                       again while its consumer keeps extending it

When a node is killed, the receives of the leases in its keeper are no longer counted if the cache is lost as well, and
refilled more than a few minutes after those leases expired.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import NamedTuple

from msgspec.structs import replace

from cqs import ids
from cqs.clock import Clock
from cqs.queue import Queue
from cqs.side_by_side import side_by_side
from cqs.store.cassandra import statements as cql
from cqs.store.cassandra.addresses import INCARNATION_MASK, address_of, by_row, place_of, ttl_s_of
from cqs.store.cassandra.earlier_clock import EarlierClock
from cqs.store.cassandra.partitions import Partitions, together
from cqs.store.cassandra.session import Row, Session, Write, whole
from cqs.store.interface import Lease

MINUTE_MS = 60_000
LEASE_KEPT_MS = 600_000
LOOK_BACK_MINUTES = 3
PRUNE_EVERY = 16
READ_ROWS = 5_000
FIND_AT_ONCE = 100
READS_AT_ONCE = 500
"""Leases of 12 hours are spread over 720 minutes."""
MINUTES_NOTED_MAX = 50_000


class Seen(NamedTuple):
    """A lease, with what orders it among those of its message: the greatest is the newest."""

    number: int
    written_us: int
    lease: Lease


Newest = dict[int, Seen]


def keep_newest(newest: Newest, seen: Iterable[Seen]) -> None:
    """Replaces older leases of the same messages in `newest`."""
    for one in seen:
        known = newest.get(one.lease.address)
        if known is None or known[:2] < one[:2]:
            newest[one.lease.address] = one


class Leases:
    """Leases as rows. Belongs to one event loop."""

    def __init__(self, session: Session, partitions: Partitions, clock: Clock, time: EarlierClock) -> None:
        self._session = session
        self._partitions = partitions
        self._clock = clock
        self._time = time
        self._noted: dict[tuple[int, int], None] = {}
        self._handed_us = 0

    def stamped(self, leases: Sequence[Lease]) -> list[Lease]:
        """Stamps leases with the time they were handed to the store; call it at once."""
        self._handed_us = max(self._handed_us + 1, self._clock.now_ms() * 1_000)
        return [replace(one, handed_us=self._handed_us) for one in leases]

    async def write(self, storage_id: int, leases: Sequence[Lease]) -> None:
        """Durable when it returns."""
        now_ms = self._clock.now_ms()
        await together(
            [
                self._write_living(storage_id, [one for one in leases if one.hidden_until_ms > now_ms], now_ms),
                self.write_ended(storage_id, [one for one in leases if one.hidden_until_ms <= now_ms]),
            ]
        )

    async def _write_living(self, storage_id: int, leases: Sequence[Lease], now_ms: int) -> None:
        minutes: dict[int, list[Write]] = {}
        for one in leases:
            minute = one.hidden_until_ms // MINUTE_MS
            ttl_s = (one.hidden_until_ms - now_ms + LEASE_KEPT_MS) // 1_000
            key = (storage_id, minute, ids.key_of(one.address), ids.tail_of(one.address), one.receive_number)
            values = (*key, one.hidden_until_ms, one.receive_count, one.first_receive_ms, ttl_s, one.handed_us)
            minutes.setdefault(minute, []).append(Write(cql.INSERT_LEASE, values))
        if minutes:
            new = [minute for minute in minutes if (storage_id, minute) not in self._noted]
            notes = [self._note(storage_id, minute, now_ms) for minute in new]
            lanes = [self._partitions.write((storage_id, "m", minute), lane) for minute, lane in minutes.items()]
            await together([*notes, *lanes])

    async def _note(self, storage_id: int, minute: int, now_ms: int) -> None:
        """Records that the minute has leases, for readers."""
        ttl_ms = (minute + 1) * MINUTE_MS - now_ms + LEASE_KEPT_MS
        await self._session.write([Write(cql.INSERT_LEASE_MINUTE, (storage_id, minute, ttl_ms // 1_000))])
        self._noted[storage_id, minute] = None
        if len(self._noted) > MINUTES_NOTED_MAX:
            del self._noted[next(iter(self._noted))]

    async def write_ended(self, storage_id: int, leases: Sequence[Lease]) -> None:
        """Kept for as long as their messages. Durable when it returns."""
        now_ms = self._clock.now_ms()
        rows: dict[int, list[Write]] = {}
        for one in leases:
            row = ids.row_of(one.address)
            key = (storage_id, row, *place_of(one.address))
            until = (ttl_s_of(one.address, now_ms), one.handed_us)
            rest = (one.hidden_until_ms, one.receive_count, one.first_receive_ms, *until)
            lane = rows.setdefault(row, [])
            lane.append(Write(cql.INSERT_RECEIVE, (*key, one.receive_number, *rest)))
            if one.receive_count and one.receive_count % PRUNE_EVERY == 0:
                lane.append(Write(cql.PRUNE_RECEIVES, (*key, one.receive_number)))
        await together([self._partitions.write((storage_id, row), lane) for row, lane in rows.items()])

    async def living(self, queue: Queue) -> Newest:
        """The newest leases of all unexpired minutes, including those of deleted messages."""
        newest: Newest = {}
        for minute in await self._minutes(queue):
            after = (-1, -1, -1)
            while True:
                values = (queue.storage_id, minute, *after, READ_ROWS)
                found = await self._session.read(cql.READ_LEASES, values)
                keep_newest(newest, map(_from_lease, whole(found)))
                if len(found) < READ_ROWS:
                    break
                after = (found[-1][0], found[-1][1], found[-1][2])
        return newest

    async def received(self, queue: Queue, row: int, first: int, last: int, newest: Newest) -> None:
        """Adds the receives of the row's messages from address `first` to `last`."""
        after = (ids.key_of(first), (first & INCARNATION_MASK) - 1, 0)
        while True:
            values = (queue.storage_id, row, *after, ids.key_of(last), READ_ROWS)
            found = await self._session.read(cql.SCAN_RECEIVES, values)
            keep_newest(newest, [_from_receive(row, columns) for columns in whole(found)])
            if len(found) < READ_ROWS:
                return
            after = (found[-1][0], found[-1][1], found[-1][2])

    async def find(self, queue: Queue, addresses: Sequence[int]) -> list[Lease | None]:
        """The newest lease of each, in order."""
        newest: Newest = {}
        storage_id = queue.storage_id
        chunks = [addresses[start : start + FIND_AT_ONCE] for start in range(0, len(addresses), FIND_AT_ONCE)]
        minutes = await self._minutes(queue)
        leases = [
            partial(
                self._session.read,
                cql.FIND_LEASES,
                (storage_id, minute, [(ids.key_of(address), ids.tail_of(address)) for address in chunk]),
            )
            for minute in minutes
            for chunk in chunks
        ]
        asked = [(row, some) for chunk in chunks for row, some in by_row(chunk).items()]
        receives = [
            partial(self._session.read, cql.FIND_RECEIVES, (storage_id, row, [place_of(address) for address in some]))
            for row, some in asked
        ]
        answers = await side_by_side([*leases, *receives], READS_AT_ONCE)
        for found in answers[: len(leases)]:
            keep_newest(newest, map(_from_lease, whole(found)))
        for (row, _), found in zip(asked, answers[len(leases) :], strict=True):
            keep_newest(newest, [_from_receive(row, columns) for columns in whole(found)])
        return [newest[address].lease if address in newest else None for address in addresses]

    async def _minutes(self, queue: Queue) -> list[int]:
        await self._time.look()
        oldest = self._time.now_ms() // MINUTE_MS - LOOK_BACK_MINUTES
        return [columns[0] for columns in await self._session.read(cql.LEASE_MINUTES, (queue.storage_id, oldest))]


def _from_lease(columns: Row) -> Seen:
    at, tail, number, hidden_until_ms, count, first_ms, written_us = columns
    return Seen(number, written_us, Lease(ids.pack(at, tail), hidden_until_ms, count, first_ms, number))


def _from_receive(row: int, columns: Row) -> Seen:
    at, incarnation, number, hidden_until_ms, count, first_ms, written_us = columns
    return Seen(number, written_us, Lease(address_of(row, at, incarnation), hidden_until_ms, count, first_ms, number))
