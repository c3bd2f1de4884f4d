"""The parent of workers replaces workers that exit, forwards signals, and leaves no process behind. Workers here do
almost nothing; test_workers.py has real ones."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.processes import children_of, runs

ROOT = Path(__file__).parents[2]
WORKERS, S_MAX = 3, 60.0


class Parent:
    """A running parent and its port."""

    def __init__(self, *arguments: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.integration.worker_parent", str(WORKERS), *arguments],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT,
        )  # fmt: skip
        assert self.process.stdout is not None
        self.port = int(self.process.stdout.readline())

    def workers(self) -> set[int]:
        return set(children_of(self.process.pid))

    def who_answers(self) -> int:
        """Returns the pid of the worker that answers a new connection; 0 if it was killed meanwhile."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=S_MAX) as connection:
            return int(connection.recv(64) or 0)


@contextmanager
def running(*arguments: str) -> Iterator[Parent]:
    parent = Parent(*arguments)
    try:
        assert parent.process.stdout is not None
        assert parent.process.stdout.readline() == "serving\n"
        yield parent
    finally:
        parent.process.kill()
        parent.process.communicate()


def until(is_so: Callable[[], bool]) -> None:
    give_up_s = time.monotonic() + S_MAX
    while not is_so():
        assert time.monotonic() < give_up_s
        time.sleep(0.01)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_worker_that_ends_is_replaced_and_the_port_answers_all_the_time(number: int) -> None:
    with running() as parent:
        before = parent.workers()
        os.kill(min(before), number)
        answers = [parent.who_answers() for _ in range(200)]
        until(lambda: len(parent.workers() - before) == 1)

        assert len(before) == WORKERS
        assert answers.count(0) <= (number == signal.SIGKILL)
        assert set(answers) <= before | parent.workers() | {0}
        assert parent.workers() >= before - {min(before)}


def test_a_worker_that_can_not_be_replaced_at_once_is_replaced_later() -> None:
    with running("poor") as parent:
        before = parent.workers()
        os.kill(min(before), signal.SIGKILL)
        until(lambda: len(parent.workers() - before) == 1)

        assert len(parent.workers()) == WORKERS
        assert parent.who_answers() in parent.workers()


def test_workers_that_start_after_the_files_were_reread_have_them_as_they_are_now() -> None:
    with running("reread") as parent:
        before = parent.workers()
        parent.process.send_signal(signal.SIGHUP)
        until(lambda: len(parent.workers() - before) == WORKERS)

        assert [parent.who_answers() for _ in range(20)] == [1] * 20


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_all_end_with_the_parent(number: int) -> None:
    with running() as parent:
        workers = parent.workers()
        parent.process.send_signal(number)
        assert parent.process.wait(S_MAX) == 0

        assert [pid for pid in workers if runs(pid)] == []


def test_nohup_is_heeded_by_all() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with running() as parent:
            workers = parent.workers()
            for pid in (parent.process.pid, *workers):
                os.kill(pid, signal.SIGHUP)
            assert {parent.who_answers() for _ in range(50)} <= workers == parent.workers()
    finally:
        signal.signal(signal.SIGHUP, before)


def test_workers_hear_of_a_parent_that_was_killed() -> None:
    with running() as parent:
        workers = parent.workers()
        parent.process.kill()

        until(lambda: not any(map(runs, workers)))


def test_a_worker_that_hangs_is_killed_at_the_second_wish() -> None:
    with running() as parent:
        workers = parent.workers()
        os.kill(min(workers), signal.SIGSTOP)
        parent.process.send_signal(signal.SIGTERM)
        until(lambda: sum(map(runs, workers)) == 1)
        time.sleep(1.1)
        parent.process.send_signal(signal.SIGTERM)

        assert parent.process.wait(S_MAX) == 128 + signal.SIGTERM
        assert [pid for pid in workers if runs(pid)] == []


def test_what_keeps_the_first_from_starting_is_told_once() -> None:
    parent = Parent("fail")
    output, errors = parent.process.communicate(timeout=S_MAX)

    assert (parent.process.returncode, output) == (1, "")
    assert errors == "cqs: there is nothing to serve\n"
