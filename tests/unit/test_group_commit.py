"""The group commit: batching, backpressure, errors, closing. A gate blocks the thread where a test wants it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Sequence

import pytest

from cqs.errors import OutcomeUnknown, StoreUnavailable
from cqs.store.group_commit import GroupCommit
from cqs.store.hand_thread import HandThread


class Gate:
    """A `run` that can be blocked and records its batches."""

    def __init__(self) -> None:
        self.batches: list[list[int]] = []
        self.entered = threading.Semaphore(0)
        self.opened = threading.Event()
        self.opened.set()
        self.answer: Callable[[int], int | Exception] = lambda job: job * 10

    def run(self, jobs: Sequence[int]) -> list[int | Exception]:
        self.batches.append(list(jobs))
        self.entered.release()
        assert self.opened.wait(90)
        return [self.answer(job) for job in jobs]

    async def wait_entered(self) -> None:
        assert await asyncio.to_thread(self.entered.acquire, timeout=90)


@pytest.fixture
def gate() -> Gate:
    return Gate()


@pytest.fixture
async def commit(gate: Gate) -> AsyncIterator[GroupCommit[int, int]]:
    group = GroupCommit(HandThread(gate.run, name="test"), jobs_max=4, commit_weight_max=100, pending_weight_max=200)
    await group.open()
    yield group
    gate.opened.set()
    await group.close()


async def held(gate: Gate, commit: GroupCommit[int, int], job: int, weight: int = 1) -> asyncio.Task[int]:
    """Starts a job that does not end before the gate opens."""
    gate.opened.clear()
    task = asyncio.ensure_future(commit.submit(job, weight))
    await gate.wait_entered()
    return task


async def queued(commit: GroupCommit[int, int], jobs: list[int], weight: int = 1) -> list[asyncio.Task[int]]:
    tasks = [asyncio.ensure_future(commit.submit(job, weight)) for job in jobs]
    await asyncio.sleep(0)
    return tasks


async def test_a_lone_job_commits_at_once(commit: GroupCommit[int, int], gate: Gate) -> None:
    assert await commit.submit(7) == 70

    assert gate.batches == [[7]]


async def test_jobs_that_arrive_while_a_commit_runs_share_the_next_one(
    commit: GroupCommit[int, int], gate: Gate
) -> None:
    first = await held(gate, commit, 1)
    others = await queued(commit, [2, 3, 4])

    gate.opened.set()

    assert await asyncio.gather(first, *others) == [10, 20, 30, 40]
    assert gate.batches == [[1], [2, 3, 4]]


async def test_a_commit_takes_no_more_jobs_than_its_limit(commit: GroupCommit[int, int], gate: Gate) -> None:
    first = await held(gate, commit, 0)
    others = await queued(commit, list(range(1, 11)))

    gate.opened.set()
    await asyncio.gather(first, *others)

    assert [len(batch) for batch in gate.batches] == [1, 4, 4, 2]


async def test_a_commit_takes_no_more_weight_than_its_limit(commit: GroupCommit[int, int], gate: Gate) -> None:
    first = await held(gate, commit, 0)
    others = await queued(commit, [1, 2, 3], weight=60)

    gate.opened.set()
    await asyncio.gather(first, *others)

    assert gate.batches == [[0], [1], [2], [3]]


async def test_a_job_heavier_than_the_limit_is_done_alone(commit: GroupCommit[int, int], gate: Gate) -> None:
    assert await commit.submit(5, 1_000_000) == 50


async def test_one_jobs_error_is_its_own(commit: GroupCommit[int, int], gate: Gate) -> None:
    first = await held(gate, commit, 0)
    others = await queued(commit, [1, 2, 3])
    gate.answer = lambda job: OutcomeUnknown("two") if job == 2 else job

    gate.opened.set()
    results = await asyncio.gather(first, *others, return_exceptions=True)

    assert [str(result) for result in results] == ["0", "1", "two", "3"]
    assert isinstance(results[2], OutcomeUnknown)


async def test_an_unexpected_failure_reaches_the_callers_and_the_thread_lives_on(
    commit: GroupCommit[int, int], gate: Gate
) -> None:
    def explode(job: int) -> int:
        raise ZeroDivisionError("a bug")

    gate.answer = explode
    with pytest.raises(StoreUnavailable, match="a bug"):
        await commit.submit(1)

    gate.answer = lambda job: job
    assert await commit.submit(2) == 2


async def test_callers_beyond_the_pending_weight_wait_their_turn(commit: GroupCommit[int, int], gate: Gate) -> None:
    first = await held(gate, commit, 1, weight=150)
    big, small = await queued(commit, [2], weight=100) + await queued(commit, [3], weight=1)

    gate.opened.set()
    await asyncio.gather(first, big, small)

    assert gate.batches[0] == [1]
    assert [job for batch in gate.batches for job in batch] == [1, 2, 3]


async def test_a_cancelled_waiter_gives_its_place_to_the_next(commit: GroupCommit[int, int], gate: Gate) -> None:
    first = await held(gate, commit, 1, weight=150)
    waiting, next_one = await queued(commit, [2, 3], weight=100)

    waiting.cancel()
    gate.opened.set()

    assert await next_one == 30
    assert await first == 10
    assert [2] not in gate.batches


async def test_an_accepted_job_is_done_though_its_caller_is_cancelled(
    commit: GroupCommit[int, int], gate: Gate
) -> None:
    first = await held(gate, commit, 1)
    (second,) = await queued(commit, [2])

    second.cancel()
    gate.opened.set()
    await first
    await commit.close()

    assert gate.batches == [[1], [2]]


async def test_close_finishes_what_was_accepted_and_refuses_what_was_not(gate: Gate) -> None:
    commit = GroupCommit(HandThread(gate.run, name="test"), pending_weight_max=100)
    await commit.open()
    first = await held(gate, commit, 1, weight=60)
    (accepted,) = await queued(commit, [2], weight=30)
    (in_line,) = await queued(commit, [3], weight=60)

    closing = asyncio.ensure_future(commit.close())
    await asyncio.sleep(0)
    gate.opened.set()
    await closing

    assert [await first, await accepted] == [10, 20]
    with pytest.raises(StoreUnavailable):
        await in_line
    with pytest.raises(StoreUnavailable):
        await commit.submit(4)
    await commit.close()


async def test_a_posted_job_is_done_without_anybody_waiting(commit: GroupCommit[int, int], gate: Gate) -> None:
    commit.post(1)
    await commit.close()

    assert gate.batches == [[1]]


async def test_the_error_of_a_posted_job_is_counted(commit: GroupCommit[int, int], gate: Gate) -> None:
    gate.answer = lambda job: StoreUnavailable("no")

    commit.post(1)
    await commit.close()

    assert commit.tally.failures == 1


async def test_the_tally_counts_commits_by_their_size(commit: GroupCommit[int, int], gate: Gate) -> None:
    first = await held(gate, commit, 0)
    others = await queued(commit, [1, 2, 3])
    gate.opened.set()
    await asyncio.gather(first, *others)

    tally = commit.tally

    assert (tally.commits, tally.jobs, tally.failures) == (2, 4, 0)
    assert tally.sizes[:3] == [1, 1, 0]
    assert tally.took_ns >= tally.took_max_ns > 0
    assert tally.waited_ns >= tally.waited_max_ns > 0


async def test_one_call_into_the_loop_answers_a_whole_commit(commit: GroupCommit[int, int], gate: Gate) -> None:
    observed: list[int] = []
    commit.observers.append(lambda jobs, waited_ns, took_ns: observed.append(jobs))
    first = await held(gate, commit, 0)
    others = await queued(commit, [1, 2, 3])

    gate.opened.set()
    await asyncio.gather(first, *others)

    assert observed == [1, 3]
