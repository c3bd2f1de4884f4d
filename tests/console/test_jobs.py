"""Jobs that a user starts in the console and that outlast the response: they can be stopped, are bounded, and
report."""

from __future__ import annotations

import asyncio

import pytest

from admin.jobs import Job, Jobs, JobStatus, TooManyJobs
from cqs.testing.clock import ManualClock
from tests.engine import ACCOUNT, until


async def test_a_job_is_stopped_between_its_steps() -> None:
    jobs = Jobs(ManualClock())
    steps = 0

    async def work(job: Job) -> None:
        nonlocal steps
        while job.is_wanted:
            steps += 1
            await asyncio.sleep(0)

    job = jobs.start("count", "alice", ACCOUNT, work)
    await until(lambda: steps > 3)
    jobs.stop(job)
    await jobs.end()

    assert job.status is JobStatus.STOPPED


async def test_jobs_are_bounded_and_a_fault_is_told_without_its_stack() -> None:
    jobs = Jobs(ManualClock())
    gate = asyncio.Event()

    async def wait(job: Job) -> None:
        await gate.wait()
        raise RuntimeError("inside")

    started = [jobs.start(f"{number}", "alice", ACCOUNT, wait) for number in range(8)]
    with pytest.raises(TooManyJobs):
        jobs.start("one more", "alice", ACCOUNT, wait)
    gate.set()
    await jobs.end()

    assert {job.problem for job in started} == {"The console had an internal error."}
