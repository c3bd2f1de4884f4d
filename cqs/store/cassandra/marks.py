"""Low-water marks: where a row's messages begin, so that reads do not scan the tombstones before them.

    row  ░░░░░░░░ tombstones ░░░░░░░░│        · · ██ ██    ███ █ ███          ▓▓▓▓▓▓▓▓ trail
                                     mark         first living                now

A mark guarantees that the row holds nothing below it, whatever is stored later. It follows what reads have seen
(nothing exists before the first message they met), but stays TRAIL_MS behind the clocks, since a message is stored a
little after its address was made: up to LATE_MS until its write is requested, WAIT_S_MAX until it begins, two timeouts
until it is answered, and clocks may differ. A writer that stores a message later than that (a move that had to wait for
Cassandra) first writes the address into `late_arrivals`, and readers look those up one by one.

A row without a mark is read from where the queue's retention ends: anything older has expired. Normally nobody reads
rows, as the cache answers; so each row that lost ADVANCE_AFTER messages is looked at once, in the background.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Coroutine, Sequence

import structlog

from cqs import ids
from cqs.clock import Clock
from cqs.errors import CqsError
from cqs.limits import RETENTION_S_MAX
from cqs.queue import Queue
from cqs.store.cassandra import statements as cql
from cqs.store.cassandra.addresses import address_of, at_of_ms, by_row, place_of
from cqs.store.cassandra.earlier_clock import EarlierClock
from cqs.store.cassandra.session import Session, Write, whole
from cqs.store.cassandra.walk import Walk

LATE_MS = 5_000
TRAIL_MS = 30_000
RELOAD_MS = 1_000
SAVE_STEP_MS = 60_000
ADVANCE_AFTER = 500
ADVANCES_AT_ONCE = 4
QUEUES_MAX = 20_000
LATE_KEPT_MS = 600_000

_log = structlog.get_logger("cqs.store")


class _Known:
    """The marks and late arrivals of one queue."""

    __slots__ = ("late", "loaded_ms", "marks", "missed", "saved")

    def __init__(self) -> None:
        self.loaded_ms = 0
        self.marks: dict[int, int] = {}
        self.saved: dict[int, int] = {}
        self.late: dict[int, set[int]] = {}
        self.missed: dict[int, int] = {}
        """Late addresses that were not found when looked up, and when that was first the case."""


class Marks:
    """Belongs to one event loop."""

    def __init__(self, session: Session, clock: Clock, time: EarlierClock) -> None:
        self._session = session
        self._clock = clock
        self._time = time
        self._known: OrderedDict[int, _Known] = OrderedDict()
        self._deleted: dict[tuple[int, int], int] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._advancing: set[tuple[int, int]] = set()

    async def load(self, queue: Queue, *, is_fresh: bool = False) -> None:
        """Must be awaited before `floor`, `late` and `limit`; asks the store at most once a second, unless
        `is_fresh`."""
        known = self._of(queue.storage_id)
        now_ms = self._clock.now_ms()
        if not is_fresh and known.loaded_ms and known.loaded_ms <= now_ms < known.loaded_ms + RELOAD_MS:
            return
        marks, late, _ = await asyncio.gather(
            self._session.read(cql.READ_MARKS, (self._session.datacenter, queue.storage_id)),
            self._session.all(cql.READ_LATE, (queue.storage_id,)),
            self._time.look(),
        )
        for row, at in whole(marks):
            known.saved[row] = max(at, known.saved.get(row, 0))
            known.marks[row] = max(at, known.marks.get(row, 0))
        by_rows = by_row([address_of(*columns) for columns in late])
        known.late = {row: set(addresses) for row, addresses in by_rows.items()}
        known.loaded_ms = now_ms

    def floor(self, queue: Queue, row: int) -> int:
        """The `at` from which to read the row."""
        oldest_ms = max(queue.created_ms, self._time.now_ms() - queue.settings.retention_ms) - TRAIL_MS
        return max(at_of_ms(oldest_ms), self._of(queue.storage_id).marks.get(row, 0))

    def late(self, queue: Queue, row: int) -> list[int]:
        """Addresses below the floor that may be messages, in order."""
        late = self._of(queue.storage_id).late.get(row)
        if not late:
            return []
        floor = self.floor(queue, row)
        return sorted([address for address in late if ids.key_of(address) < floor])

    def oldest(self, queue: Queue) -> int:
        """The `at` below which no retention could keep a message."""
        oldest_ms = max(queue.created_ms, self._time.now_ms() - RETENTION_S_MAX * 1_000)
        return at_of_ms(oldest_ms - TRAIL_MS)

    def limit(self) -> int:
        """The highest `at` to which a read that begins now may move a mark."""
        return at_of_ms(self._time.now_ms() - TRAIL_MS)

    def learn(self, queue: Queue, row: int, first_at: int | None, limit_at: int) -> None:
        """A read from the floor on found the first message at `first_at`, or none. `limit_at`: the `limit` when it
        began, since a long read reflects the present only in what it read last."""
        at = limit_at if first_at is None else min(first_at, limit_at)
        known = self._of(queue.storage_id)
        if at <= known.marks.get(row, 0):
            return
        known.marks[row] = at
        if at - known.saved.get(row, 0) >= at_of_ms(SAVE_STEP_MS):
            known.saved[row] = at
            values = (self._session.datacenter, queue.storage_id, row, at, RETENTION_S_MAX)
            self._start(self._session.write([Write(cql.SAVE_MARK, values)]), "low_water_mark_not_saved")

    async def expect_late(self, storage_id: int, addresses: Sequence[int]) -> None:
        """Must be awaited before these messages are stored: records those that are late. Raises StoreUnavailable: then
        store nothing."""
        oldest_ms = self._clock.now_ms() - LATE_MS
        late = [address for address in addresses if ids.ms_of(address) < oldest_ms]
        if not late:
            return
        for row, some in by_row(late).items():
            writes = [Write(cql.INSERT_LATE, (storage_id, row, *place_of(address))) for address in some]
            await self._session.write(writes)
            self._of(storage_id).late.setdefault(row, set()).update(some)

    def miss_late(self, queue: Queue, row: int, gone: Sequence[int]) -> None:
        """These were looked up and do not exist. Addresses not found for LATE_KEPT_MS are no longer looked up."""
        known = self._of(queue.storage_id)
        now_ms = self._clock.now_ms()
        for address in gone:
            if now_ms - known.missed.setdefault(address, now_ms) < LATE_KEPT_MS:
                continue
            del known.missed[address]
            known.late.get(row, set()).discard(address)
            values = (queue.storage_id, row, *place_of(address))
            self._start(self._session.write([Write(cql.DELETE_LATE, values)]), "late_arrival_not_forgotten")

    def count_deleted(self, queue: Queue, addresses: Sequence[int]) -> None:
        """Looks for a row's first message when the row has lost many."""
        for address in addresses:
            key = (queue.storage_id, ids.row_of(address))
            count = self._deleted.get(key, 0) + 1
            if count < ADVANCE_AFTER or len(self._advancing) >= ADVANCES_AT_ONCE or key in self._advancing:
                self._deleted[key] = count
                continue
            self._deleted.pop(key, None)
            self._advancing.add(key)
            self._start(self.advance(queue, key[1]), "low_water_mark_not_advanced")
        if len(self._deleted) > QUEUES_MAX:
            self._deleted.clear()

    async def advance(self, queue: Queue, row: int) -> None:
        """Moves the row's mark up to its first message."""
        try:
            await self.load(queue)
            limit_at = self.limit()
            walk = Walk(
                self._session,
                self._clock,
                cql.FIRST_MESSAGE,
                queue.storage_id,
                row,
                start_at=self.floor(queue, row),
            )
            while not walk.is_over:
                found = await walk.next(1)
                if found:
                    self.learn(queue, row, found[0][0], limit_at)
                    return
            self.learn(queue, row, None, limit_at)
        finally:
            self._advancing.discard((queue.storage_id, row))

    async def rest(self) -> None:
        """Returns when no background work is left."""
        while self._tasks:
            await asyncio.gather(*self._tasks, return_exceptions=True)

    def _of(self, storage_id: int) -> _Known:
        known = self._known.get(storage_id)
        if known is None:
            known = self._known[storage_id] = _Known()
            if len(self._known) > QUEUES_MAX:
                self._known.popitem(last=False)
        return known

    def _start(self, work: Coroutine[object, object, None], event: str) -> None:
        async def run() -> None:
            try:
                await work
            except CqsError as error:
                _log.warning(event, reason=str(error))

        task = asyncio.ensure_future(run())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
