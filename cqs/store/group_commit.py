"""Group commit: the jobs of many callers are done together, by a hand beside the event loop.

    loop    submit(a) submit(b) │ submit(c)  submit(d)            ┌► results of a, b        ┌► results of c, d
                      end of the iteration: give([a, b])          │  give([c, d])           │
    hand                └──────────── run ────────────────────────┘  └───────── run ────────┘

A commit costs about the same for one row as for a hundred (the disk's fsync), so jobs that arrive while one runs go
into the next. There is no timer: a lone job starts at the end of the loop iteration in which it arrived, together with
any others of that iteration. Each commit costs one hand-over in each direction, and one future per caller.

The hand is a thread (`cqs.store.hand_thread`) or a process (`cqs.store.sqlite.writer_process`). The store's reader uses
the same class: reads that arrive while one query runs share the next.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

import structlog

from cqs.errors import CqsError, StoreUnavailable

JOBS_MAX = 256
"""Maximum number of jobs in one commit."""
COMMIT_WEIGHT_MAX = 16 << 20
"""Maximum weight (about bytes) of one commit, unless a single job weighs more."""
PENDING_WEIGHT_MAX = 64 << 20
"""Weight of jobs accepted but not done above which callers wait, first come, first served."""
SIZE_BUCKETS = 10
CLOSED = "The store is closed."

_log = structlog.get_logger("cqs.store")

Job = TypeVar("Job")
Result = TypeVar("Result")
Wanted = TypeVar("Wanted", contravariant=True)
Done = TypeVar("Done", covariant=True)


class Hand(Protocol[Wanted, Done]):
    """Runs batches of jobs beside the event loop, one batch at a time."""

    async def open(self) -> None:
        """Raises StoreUnavailable when the hand can't start."""

    def give(self, jobs: Sequence[Wanted], done: Callable[[Sequence[Done | Exception]], None]) -> None:
        """Starts a batch. `done` is called once, in the loop and after this has returned, with each job's result or an
        exception for that job alone; until then, do not call again. Raises StoreUnavailable when it can't start: then
        `done` is not called, and nothing was written."""

    def hurry(self) -> None:
        """Closing is imminent: from now on it may abandon a batch that takes very long, with an unknown outcome."""

    async def close(self) -> None:
        """Call only when idle. Idempotent, even if it was never opened."""


@dataclass(slots=True)
class Tally:
    """Statistics of a group commit; read by metrics. Times in nanoseconds."""

    commits: int = 0
    jobs: int = 0
    failures: int = 0
    """Jobs that ended in an error."""
    sizes: list[int] = field(default_factory=lambda: [0] * SIZE_BUCKETS)
    """Commits by their number of jobs: 1, 2-3, 4-7, 8-15 … the last bucket is open."""
    waited_ns: int = 0
    """Total time that commits' first jobs waited for their commit to start."""
    waited_max_ns: int = 0
    took_ns: int = 0
    took_max_ns: int = 0

    def count(self, jobs: int, failures: int, waited_ns: int, took_ns: int) -> None:
        self.commits += 1
        self.jobs += jobs
        self.failures += failures
        self.sizes[min(jobs.bit_length(), SIZE_BUCKETS) - 1] += 1
        self.waited_ns += waited_ns
        self.waited_max_ns = max(self.waited_max_ns, waited_ns)
        self.took_ns += took_ns
        self.took_max_ns = max(self.took_max_ns, took_ns)


_Entry = tuple[Job, "asyncio.Future[Result] | None", int, int]
"""Job, future of its caller, weight, when it was accepted (ns)."""


class GroupCommit(Generic[Job, Result]):
    """All methods belong to one event loop."""

    def __init__(
        self,
        hand: Hand[Job, Result],
        *,
        jobs_max: int = JOBS_MAX,
        commit_weight_max: int = COMMIT_WEIGHT_MAX,
        pending_weight_max: int = PENDING_WEIGHT_MAX,
    ) -> None:
        self.tally = Tally()
        self.observers: list[Callable[[int, int, int], None]] = []
        """Called after each commit with its number of jobs, how long the first one waited, and the time from the
        hand-over to the results (ns)."""
        self._hand = hand
        self._jobs_max = jobs_max
        self._commit_weight_max = commit_weight_max
        self._pending_weight_max = pending_weight_max
        self._queue: deque[_Entry[Job, Result]] = deque()
        self._batch: list[_Entry[Job, Result]] = []
        self._given_ns = 0
        self._is_called = False
        self._is_closing = False
        self._pending_weight = 0
        self._line: deque[tuple[asyncio.Future[None], int]] = deque()
        self._idle = asyncio.Event()
        self._idle.set()
        self._loop: asyncio.AbstractEventLoop

    @property
    def busy_s(self) -> float:
        """How long the current batch has been with the hand; 0 = there is none."""
        return (time.perf_counter_ns() - self._given_ns) / 1e9 if self._batch else 0.0

    async def open(self) -> None:
        """Raises StoreUnavailable when the hand can't start."""
        self._loop = asyncio.get_running_loop()
        await self._hand.open()

    async def submit(self, job: Job, weight: int = 1) -> Result:
        """The job's result, or its error. Waits when too much is pending. An accepted job is done even if the caller is
        cancelled. Raises StoreUnavailable when closed."""
        if self._is_closing:
            raise StoreUnavailable(CLOSED)
        if self._line or not self._has_room(weight):
            await self._turn(weight)
        else:
            self._pending_weight += weight
        future: asyncio.Future[Result] = self._loop.create_future()
        self._accept(job, future, weight)
        return await future

    def post(self, job: Job, weight: int = 1) -> None:
        """Accepts the job at once, without waiting for it. Errors are counted and logged. Ignored when closed."""
        if not self._is_closing:
            self._pending_weight += weight
            self._accept(job, None, weight)

    async def close(self) -> None:
        """Completes accepted jobs, then closes the hand. Idempotent."""
        self._is_closing = True
        self._hand.hurry()
        while self._line:
            turn, _ = self._line.popleft()
            if not turn.done():
                turn.set_exception(StoreUnavailable(CLOSED))
        await self._idle.wait()
        await self._hand.close()

    def _has_room(self, weight: int) -> bool:
        return not self._pending_weight or self._pending_weight + weight <= self._pending_weight_max

    def _accept(self, job: Job, future: asyncio.Future[Result] | None, weight: int) -> None:
        self._queue.append((job, future, weight, time.perf_counter_ns()))
        if not self._batch and not self._is_called:
            self._is_called = True
            self._idle.clear()
            self._loop.call_soon(self._begin)

    async def _turn(self, weight: int) -> None:
        turn: asyncio.Future[None] = self._loop.create_future()
        self._line.append((turn, weight))
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._pending_weight -= weight
            self._admit()
            raise
        if self._is_closing:
            self._pending_weight -= weight
            raise StoreUnavailable(CLOSED)

    def _admit(self) -> None:
        while self._line:
            turn, weight = self._line[0]
            if not turn.done() and not self._has_room(weight):
                return
            self._line.popleft()
            if not turn.done():
                self._pending_weight += weight
                turn.set_result(None)

    def _begin(self) -> None:
        self._is_called = False
        self._batch = self._collect()
        self._given_ns = time.perf_counter_ns()
        try:
            self._hand.give([entry[0] for entry in self._batch], self._done)
        except CqsError as error:
            _log.error("store_hand_failed", reason=str(error))
            self._loop.call_soon(self._done, [error] * len(self._batch))
        except Exception as error:
            _log.exception("store_hand_failed")
            failure = StoreUnavailable(f"The store failed unexpectedly: {error}")
            self._loop.call_soon(self._done, [failure] * len(self._batch))

    def _done(self, results: Sequence[Result | Exception]) -> None:
        batch, self._batch = self._batch, []
        took_ns = time.perf_counter_ns() - self._given_ns
        waited_ns = self._given_ns - batch[0][3]
        failures = self._resolve(batch, results)
        self.tally.count(len(batch), failures, waited_ns, took_ns)
        if self._line:
            self._admit()
        if self._queue and not self._is_called:
            self._begin()
        elif not self._queue:
            self._idle.set()
        for observe in self.observers:
            observe(len(batch), waited_ns, took_ns)

    def _resolve(self, batch: list[_Entry[Job, Result]], results: Sequence[Result | Exception]) -> int:
        """Returns how many failed."""
        failures = 0
        for (job, future, weight, _), result in zip(batch, results, strict=True):
            self._pending_weight -= weight
            if isinstance(result, Exception):
                failures += 1
                if future is None:
                    _log.warning("background_write_failed", job=type(job).__name__, reason=str(result))
                elif not future.done():
                    future.set_exception(result)
            elif future is not None and not future.done():
                future.set_result(result)
        return failures

    def _collect(self) -> list[_Entry[Job, Result]]:
        batch = [self._queue.popleft()]
        weight = batch[0][2]
        while self._queue and len(batch) < self._jobs_max:
            weight += self._queue[0][2]
            if weight > self._commit_weight_max:
                break
            batch.append(self._queue.popleft())
        return batch
