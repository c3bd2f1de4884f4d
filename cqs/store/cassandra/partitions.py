"""Group commit by partition: writes that arrive for a partition while its last batch is under way go into the next one.

    append ─┐                       ┌─ answer to all of them
    delete ─┼─► lane (queue, row) ──┤
    append ─┘    one unlogged batch │    meanwhile: append, append, delete ──► the next batch
                 = one mutation     └─────────────────────────────────────────────┘

There is no timer: a lone write is sent at the end of the event loop iteration in which it arrived, with any others of
that iteration. In a batch of 64, a statement costs the client a twelfth of a single one. Stamps rather than order
decide which write wins, so batches may mix inserts and deletes, and lanes need keep no order beyond one batch at a
time.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine, Hashable, Iterable, Sequence

from cqs.errors import OutcomeUnknown, StoreUnavailable
from cqs.store.cassandra.session import Write

BATCH_STATEMENTS_MAX = 128
BATCH_WEIGHT_MAX = 2 << 20
"""Approximate bytes; Cassandra refuses a mutation above half a commit log segment (16 MiB)."""
PENDING_WEIGHT_MAX = 128 << 20
WAIT_S_MAX = 5.0
"""A write that has waited this long for the batches before it is given up: low-water marks rely on it, and its caller
has most likely gone."""
STATEMENT_WEIGHT = 128


class _Entry:
    """The statements of one caller, sent together."""

    __slots__ = ("entered_s", "future", "weight", "writes")

    def __init__(self, writes: Sequence[Write], weight: int, future: asyncio.Future[None], entered_s: float) -> None:
        self.writes = writes
        self.weight = weight
        self.future = future
        self.entered_s = entered_s


class Partitions:
    """Lanes to the partitions. Belongs to one event loop."""

    def __init__(
        self, write: Callable[[Sequence[Write], float], Awaitable[None]], now_s: Callable[[], float] = time.monotonic
    ) -> None:
        """`write` is given a batch, and when the first of its writes was accepted, by the clock `now_s`."""
        self.batches = 0
        self.statements = 0
        """Number of statements sent so far."""
        self._write = write
        self._now_s = now_s
        self._lanes: dict[Hashable, list[_Entry]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._pending_weight = 0

    async def write(self, partition: Hashable, writes: Sequence[Write], weights: Sequence[int] = ()) -> None:
        """Durable when it returns. `weights`: bytes of each write beyond the usual. Raises StoreUnavailable when none
        was written, too much is waiting already, or it was not begun within WAIT_S_MAX; OutcomeUnknown when some may
        have been written."""
        if self._pending_weight > PENDING_WEIGHT_MAX:
            raise StoreUnavailable("Too many writes are waiting for Cassandra. Nothing was written.")
        entries = [self._enter(partition, part, weight) for part, weight in _parts(writes, weights)]
        if len(entries) == 1:
            await entries[0].future
        else:
            await together(_result(entry.future) for entry in entries)

    async def rest(self) -> None:
        """Returns when every accepted write has an answer."""
        while self._lanes:
            await asyncio.gather(
                *[entry.future for lane in self._lanes.values() for entry in lane], return_exceptions=True
            )
            await asyncio.gather(*self._tasks, return_exceptions=True)

    def _enter(self, partition: Hashable, writes: Sequence[Write], weight: int) -> _Entry:
        loop = asyncio.get_running_loop()
        entry = _Entry(writes, weight, loop.create_future(), self._now_s())
        self._pending_weight += weight
        lane = self._lanes.get(partition)
        if lane is None:
            self._lanes[partition] = [entry]
            loop.call_soon(self._start, partition)
        else:
            lane.append(entry)
        return entry

    def _start(self, partition: Hashable) -> None:
        task = asyncio.ensure_future(self._run(partition))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _run(self, partition: Hashable) -> None:
        lane = self._lanes[partition]
        while lane:
            late = _late(lane, self._now_s())
            self._settle(late, StoreUnavailable("Cassandra is too slow. Nothing was written."))
            batch = _next_batch(lane)
            if not batch:
                continue
            error: Exception | None = None
            try:
                await self._write([write for entry in batch for write in entry.writes], batch[0].entered_s)
            except Exception as failure:  # Even a bug concerns only the calls that wait, not those that come later.
                error = failure
            self.batches += 1
            self.statements += sum(len(entry.writes) for entry in batch)
            self._settle(batch, error)
        del self._lanes[partition]

    def _settle(self, entries: Sequence[_Entry], error: Exception | None) -> None:
        for entry in entries:
            self._pending_weight -= entry.weight
            if entry.future.done():
                continue
            if error is None:
                entry.future.set_result(None)
            else:
                entry.future.set_exception(error)


async def together(writes: Iterable[Coroutine[object, object, None]]) -> None:
    """Runs all of them concurrently and waits for all. Raises StoreUnavailable only when each of them did."""
    results = await asyncio.gather(*writes, return_exceptions=True)
    errors = [result for result in results if isinstance(result, BaseException)]
    if not errors:
        return
    for error in errors:
        if not isinstance(error, StoreUnavailable):
            raise error
    if len(errors) < len(results):
        raise OutcomeUnknown(f"Only a part was written. {errors[0]}") from errors[0]
    raise errors[0]


async def _result(future: asyncio.Future[None]) -> None:
    await future


def _parts(writes: Sequence[Write], weights: Sequence[int]) -> list[tuple[Sequence[Write], int]]:
    """Splits the writes so that each part fits into a batch."""
    parts: list[tuple[Sequence[Write], int]] = []
    start = weight = 0
    for place in range(len(writes)):
        one = STATEMENT_WEIGHT + (weights[place] if weights else 0)
        if place > start and (place - start == BATCH_STATEMENTS_MAX or weight + one > BATCH_WEIGHT_MAX):
            parts.append((writes[start:place], weight))
            start, weight = place, 0
        weight += one
    parts.append((writes[start:], weight))
    return parts


def _late(lane: list[_Entry], now_s: float) -> list[_Entry]:
    """Removes and returns the entries that have waited too long; they are at the front."""
    count = sum(now_s - entry.entered_s >= WAIT_S_MAX for entry in lane)
    late = lane[:count]
    del lane[:count]
    return late


def _next_batch(lane: list[_Entry]) -> list[_Entry]:
    count = weight = taken = 0
    for entry in lane:
        count += len(entry.writes)
        weight += entry.weight
        if taken and (count > BATCH_STATEMENTS_MAX or weight > BATCH_WEIGHT_MAX):
            break
        taken += 1
    batch = lane[:taken]
    del lane[:taken]
    return batch
