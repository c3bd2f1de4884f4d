"""Work that a user starts here and that takes longer than a response: its progress, its result, and a way to stop it.

A job lives in this process. A restart ends it half-way, which is harmless: each of its steps is complete, and starting
the same job again continues with what is left. (Moves of a whole queue are move tasks of the service, which survive a
restart.)
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from enum import StrEnum

import structlog

from cqs.clock import Clock
from cqs.errors import CqsError

JOBS_MAX = 100
RUNNING_MAX = 8
_log = structlog.get_logger("cqs.console")


class JobStatus(StrEnum):
    RUNNING = "running"
    STOPPING = "stopping"
    DONE = "done"
    STOPPED = "stopped"
    FAILED = "failed"


class TooManyJobs(CqsError):
    """RUNNING_MAX jobs are already running."""


class Job:
    """Its counts are updated while it runs. `total` 0 = not known in advance."""

    def __init__(self, number: int, title: str, who: str, account: str, started_ms: int) -> None:
        self.number = number
        self.title = title
        self.who = who
        self.account = account
        self.started_ms = started_ms
        self.ended_ms = 0
        self.total = self.seen = self.done = self.failed = 0
        self.status = JobStatus.RUNNING
        self.problem = ""

    @property
    def is_running(self) -> bool:
        return self.status in (JobStatus.RUNNING, JobStatus.STOPPING)

    @property
    def is_wanted(self) -> bool:
        """Checked by the work between its steps: False = stop."""
        return self.status is JobStatus.RUNNING


class Jobs:
    """The last JOBS_MAX jobs, newest first. Belongs to one event loop."""

    def __init__(self, clock: Clock, first: int = 0) -> None:
        """Numbers start above `first`, so that those of several workers and nodes differ."""
        self._clock = clock
        self._jobs: OrderedDict[int, Job] = OrderedDict()
        self._tasks: set[asyncio.Task[None]] = set()
        self._last = first

    def of(self, account: str) -> list[Job]:
        return [job for job in reversed(self._jobs.values()) if job.account == account]

    def get(self, number: int) -> Job | None:
        return self._jobs.get(number)

    def start(self, title: str, who: str, account: str, work: Callable[[Job], Awaitable[None]]) -> Job:
        """Starts running it. Raises TooManyJobs."""
        if sum(job.is_running for job in self._jobs.values()) >= RUNNING_MAX:
            raise TooManyJobs(f"{RUNNING_MAX} jobs are already running. Wait for one to end, or stop one.")
        self._last += 1
        job = self._jobs[self._last] = Job(self._last, title, who, account, self._clock.now_ms())
        self._forget_old()
        task = asyncio.create_task(self._run(job, work), name=f"console_job_{job.number}")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return job

    def stop(self, job: Job) -> None:
        """It ends after the current step. Idempotent."""
        if job.status is JobStatus.RUNNING:
            job.status = JobStatus.STOPPING

    async def end(self) -> None:
        """Stops all jobs and waits for them; called when the server stops."""
        for job in self._jobs.values():
            self.stop(job)
        await asyncio.gather(*self._tasks)

    async def _run(self, job: Job, work: Callable[[Job], Awaitable[None]]) -> None:
        try:
            await work(job)
            job.status = JobStatus.DONE if job.status is JobStatus.RUNNING else JobStatus.STOPPED
        except CqsError as error:
            job.status, job.problem = JobStatus.FAILED, str(error)
        except Exception:
            job.status, job.problem = JobStatus.FAILED, "The console had an internal error."
            _log.exception("console_job_failed", job=job.title)
        job.ended_ms = self._clock.now_ms()

    def _forget_old(self) -> None:
        for number in [number for number, job in self._jobs.items() if not job.is_running]:
            if len(self._jobs) <= JOBS_MAX:
                return
            del self._jobs[number]
