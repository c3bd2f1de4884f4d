"""Group commit: one thread does the jobs of many callers together.

    loop thread   submit(a) submit(b) submit(c)  submit(d)            ──► resolve(a)  resolve(b, c, d) ──►
                     │         └────┬────┴──────────┘                     ▲                ▲
    its thread       └─► run([a]) ──┴───────────────► run([b, c, d]) ─────┘────────────────┘

A commit costs about the same for one row as for a hundred (the disk's fsync), so whatever arrives while one runs goes
into the next. There is no timer: a lone job starts at once. Under the GIL a hand-over between threads costs more than
the work itself, hence per commit one wake-up of the thread, one `call_soon_threadsafe` back, and one future a caller.

The store's reader thread uses the same class: reads that arrive while one query runs share the next.
"""

from __future__ import annotations

import asyncio
import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import structlog

from cqs.errors import CqsError, StoreUnavailable

JOBS_MAX = 256
"""Jobs in one commit."""
COMMIT_WEIGHT_MAX = 16 << 20
"""Weight (about bytes) of one commit, unless a single job weighs more."""
PENDING_WEIGHT_MAX = 64 << 20
"""Weight of what is accepted and not done: callers beyond it wait, first come, first served."""
SIZE_BUCKETS = 10
CLOSED = "The store is closed."

_log = structlog.get_logger("cqs.store")

Job = TypeVar("Job")
Result = TypeVar("Result")


@dataclass(slots=True)
class Tally:
    """What a group commit has done so far; read by metrics. Times in nanoseconds."""

    commits: int = 0
    jobs: int = 0
    failures: int = 0
    """Jobs that ended in an error."""
    sizes: list[int] = field(default_factory=lambda: [0] * SIZE_BUCKETS)
    """Commits by their number of jobs: 1, 2-3, 4-7, 8-15 … the last one is open."""
    waited_ns: int = 0
    """Sum over commits of how long the first job waited for its commit to start."""
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
"""Job, who waits for it, weight, when it was accepted (ns)."""


class GroupCommit(Generic[Job, Result]):
    """Runs `run(jobs)` in its own thread. `run` returns, for each job, its result or an exception for that job alone;
    what it raises is every job's error. All methods belong to one event loop."""

    def __init__(
        self,
        run: Callable[[list[Job]], Sequence[Result | Exception]],
        *,
        name: str,
        jobs_max: int = JOBS_MAX,
        commit_weight_max: int = COMMIT_WEIGHT_MAX,
        pending_weight_max: int = PENDING_WEIGHT_MAX,
    ) -> None:
        self.tally = Tally()
        self.observers: list[Callable[[int, int, int], None]] = []
        """Called in the loop after each commit with its number of jobs, how long the first one waited, and how long it
        took (ns)."""
        self._run = run
        self._jobs_max = jobs_max
        self._commit_weight_max = commit_weight_max
        self._pending_weight_max = pending_weight_max
        self._queue: deque[_Entry[Job, Result]] = deque()
        self._wake: queue.SimpleQueue[None] = queue.SimpleQueue()
        self._is_idle = False
        self._is_closing = False
        self._pending_weight = 0
        self._line: deque[tuple[asyncio.Future[None], int]] = deque()
        self._thread = threading.Thread(target=self._serve, name=name, daemon=True)
        self._loop: asyncio.AbstractEventLoop
        self._ended: asyncio.Future[None]

    def start(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._ended = self._loop.create_future()
        self._thread.start()

    async def submit(self, job: Job, weight: int = 1) -> Result:
        """The job's result, or its error. Waits when too much is pending. Once accepted a job is done, also when the
        caller is cancelled. Raises StoreUnavailable when closed."""
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
        """Accepts the job at once; nobody waits for it. Its error is counted and logged. Ignored when closed."""
        if not self._is_closing:
            self._pending_weight += weight
            self._accept(job, None, weight)

    async def close(self) -> None:
        """Does what was accepted, then ends the thread. Idempotent."""
        if not self._is_closing:
            self._is_closing = True
            while self._line:
                turn, _ = self._line.popleft()
                if not turn.done():
                    turn.set_exception(StoreUnavailable(CLOSED))
            self._wake.put(None)
        if self._thread.ident is not None:
            await asyncio.shield(self._ended)
            self._thread.join()

    def _has_room(self, weight: int) -> bool:
        return not self._pending_weight or self._pending_weight + weight <= self._pending_weight_max

    def _accept(self, job: Job, future: asyncio.Future[Result] | None, weight: int) -> None:
        self._queue.append((job, future, weight, time.perf_counter_ns()))
        if self._is_idle:
            self._is_idle = False
            self._wake.put(None)

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

    def _resolve(
        self,
        batch: list[_Entry[Job, Result]],
        results: Sequence[Result | Exception],
        waited_ns: int,
        took_ns: int,
    ) -> None:
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
        self.tally.count(len(batch), failures, waited_ns, took_ns)
        if self._line:
            self._admit()
        for observe in self.observers:
            observe(len(batch), waited_ns, took_ns)

    def _serve(self) -> None:
        while batch := self._collect():
            started_ns = time.perf_counter_ns()
            results = self._results([entry[0] for entry in batch])
            took_ns = time.perf_counter_ns() - started_ns
            self._loop.call_soon_threadsafe(self._resolve, batch, results, started_ns - batch[0][3], took_ns)
        self._loop.call_soon_threadsafe(self._ended.set_result, None)

    def _results(self, jobs: list[Job]) -> Sequence[Result | Exception]:
        try:
            return self._run(jobs)
        except CqsError as error:
            return [error] * len(jobs)
        except Exception as error:
            _log.exception("store_thread_failed", thread=self._thread.name)
            failure = StoreUnavailable(f"The store failed unexpectedly: {error}")
            failure.__cause__ = error
            return [failure] * len(jobs)

    def _collect(self) -> list[_Entry[Job, Result]]:
        """The next batch; empty when closed and done. Says that it is idle BEFORE it looks a last time, while `_accept`
        adds BEFORE it asks whether the thread is idle: so one of the two always sees the other."""
        while not self._queue:
            if self._is_closing:
                return []
            self._is_idle = True
            if not self._queue and not self._is_closing:
                self._wake.get()
            self._is_idle = False
        batch = [self._queue.popleft()]
        weight = batch[0][2]
        while self._queue and len(batch) < self._jobs_max:
            weight += self._queue[0][2]
            if weight > self._commit_weight_max:
                break
            batch.append(self._queue.popleft())
        return batch
