"""The writer as a process: what happens to it, the server and the messages when either of the two dies."""

from __future__ import annotations

import asyncio
import fcntl
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from cqs.errors import DataInUse, OutcomeUnknown, StoreUnavailable
from cqs.queue import Queue
from cqs.store.sqlite import folder as folders
from cqs.store.sqlite.folder import LOCK_NAME, Folder
from cqs.store.sqlite.jobs import Append, Work
from cqs.store.sqlite.store import SqliteStore
from cqs.testing.clock import ManualClock
from tests.contract.sqlite_home import SqliteHome, is_alive, kill, pid_of
from tests.contract.store_home import Maker, addresses_of, held, lease_of


@pytest.fixture
def home(tmp_path: Path, clock: ManualClock) -> SqliteHome:
    return SqliteHome(tmp_path / "data", clock, has_writer_process=True)


@pytest.fixture
async def store(home: SqliteHome) -> AsyncIterator[SqliteStore]:
    """A store with no pending requests to the writer."""
    opened = await home.open()
    await opened.swept()
    yield opened
    await home.close()


async def test_what_a_killed_writer_had_is_unknown_and_the_next_commit_has_another(
    store: SqliteStore, queue: Queue, make: Maker
) -> None:
    first, second, third = make.messages(3)
    await store.append(queue, [first])
    killed = pid_of(store)
    os.kill(killed, signal.SIGSTOP)
    sending = asyncio.ensure_future(store.append(queue, [second]))
    await asyncio.sleep(0)
    await asyncio.sleep(0)

    os.kill(killed, signal.SIGKILL)
    with pytest.raises(OutcomeUnknown, match="writer ended"):
        await sending
    await store.append(queue, [third])

    assert pid_of(store) != killed
    found = await held(store, queue)
    assert set(addresses_of([first, third])) <= set(found)


async def test_a_writer_that_dies_idle_is_replaced_unnoticed(store: SqliteStore, queue: Queue, make: Maker) -> None:
    await kill(store)

    message = make.message()
    await store.append(queue, [message])

    assert await held(store, queue) == [message.address]


async def test_the_next_writer_knows_the_leases_of_the_last(store: SqliteStore, queue: Queue, make: Maker) -> None:
    message = make.message()
    await store.append(queue, [message])
    await store.lease(queue, [lease_of(message)])
    await kill(store)

    await store.delete(queue, [message.address])

    assert await store.leases(queue, [message.address]) == [None]


async def test_a_writer_of_files_that_may_only_be_read_does_not_begin_and_the_next_one_does_when_they_are_writable(
    store: SqliteStore, home: SqliteHome, queue: Queue, make: Maker, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    if os.geteuid() == 0:
        monkeypatch.setattr(sys, "executable", str(_python_without_roots_rights(tmp_path)))
    files = list(home.folder.glob("messages.db*"))
    for file in files:
        file.chmod(0o400)
    await kill(store)

    for _ in range(2):
        with pytest.raises(StoreUnavailable, match=r"may only be read.*check its owner"):
            await store.append(queue, [make.message()])
    for file in files:
        file.chmod(0o600)
    message = make.message()
    await store.append(queue, [message])

    assert await held(store, queue) == [message.address]


@pytest.mark.parametrize("is_replaced", [False, True])
async def test_a_writer_does_not_begin_on_a_file_that_was_deleted_or_replaced_and_the_next_one_does_when_it_is_back(
    store: SqliteStore, home: SqliteHome, queue: Queue, make: Maker, is_replaced: bool
) -> None:
    aside = home.file.rename(home.file.with_name("aside"))
    if is_replaced:
        shutil.copy(aside, home.file)
    await kill(store)

    for _ in range(2):
        with pytest.raises(StoreUnavailable, match="was deleted or replaced: put it back"):
            await store.append(queue, [make.message()])
    assert home.file.exists() == is_replaced
    aside.rename(home.file)
    message = make.message()
    await store.append(queue, [message])

    assert await held(store, queue) == [message.address]


def _python_without_roots_rights(folder: Path) -> Path:
    """Python for which the permissions of files count, though it is root's."""
    program = folder / "python"
    drop = "setpriv --bounding-set=-dac_override,-dac_read_search"
    program.write_text(f'#!/bin/sh\nexec {drop} {sys.executable} "$@"\n')
    program.chmod(0o755)
    return program


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda number: number.name)
async def test_signals_to_the_whole_group_do_not_end_the_writer(
    store: SqliteStore, queue: Queue, make: Maker, number: signal.Signals
) -> None:
    writer = pid_of(store)
    os.kill(writer, number)

    await store.append(queue, [make.message()])

    assert pid_of(store) == writer


async def test_a_closed_store_leaves_no_process(store: SqliteStore) -> None:
    writer = pid_of(store)

    await store.close()

    assert not is_alive(writer)


async def test_a_commit_larger_than_the_sockets_buffer_goes_through(
    store: SqliteStore, queue: Queue, make: Maker
) -> None:
    messages = [make.message("x" * 900_000) for _ in range(24)]

    await asyncio.gather(*(store.append(queue, [message]) for message in messages))

    assert [len(one.body) for one in await store.read(queue, addresses_of(messages))] == [900_000] * 24


async def test_work_that_no_other_process_can_do_fails_and_the_store_goes_on(
    store: SqliteStore, queue: Queue, make: Maker
) -> None:
    with pytest.raises(StoreUnavailable, match="unexpectedly"):
        await store.hands.commits.submit(Work(lambda connection: None))

    await store.append(queue, [make.message()])


async def test_a_failure_that_nobody_thought_of_is_the_jobs_and_the_writer_lives_on(
    store: SqliteStore, queue: Queue, make: Maker
) -> None:
    with pytest.raises(StoreUnavailable, match="unexpectedly"):
        await store.hands.commits.submit(Append(queue.storage_id, [make.message(sent_ms="never")]))

    await store.append(queue, [make.message()])


async def test_a_writer_that_can_not_be_started_is_told(home: SqliteHome, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nonexistent/python")

    with pytest.raises(StoreUnavailable, match="can't be started"):
        await home.open()


async def test_a_writer_that_ends_at_once_is_told(home: SqliteHome, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")

    with pytest.raises(StoreUnavailable, match="ended"):
        await home.open()


async def test_a_store_that_could_not_open_can_be_opened_later(
    home: SqliteHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch, pytest.raises(StoreUnavailable):
        patch.setattr(sys, "executable", "/bin/false")
        await home.open()

    await (await home.open()).close()


def test_a_start_waits_for_the_writer_of_a_dead_server(tmp_path: Path) -> None:
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    (tmp_path / LOCK_NAME).write_text(str(dead.pid))
    lock = os.open(tmp_path / LOCK_NAME, os.O_RDWR)
    fcntl.flock(lock, fcntl.LOCK_EX)
    threading.Timer(0.05, os.close, [lock]).start()

    folder = Folder(tmp_path)
    folder.take()

    assert (tmp_path / LOCK_NAME).read_text().startswith(str(os.getpid()))
    folder.give_up()


def test_a_start_does_not_wait_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folders, "LOOKS_MAX", 0)
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    (tmp_path / LOCK_NAME).write_text(str(dead.pid))
    lock = os.open(tmp_path / LOCK_NAME, os.O_RDWR)
    fcntl.flock(lock, fcntl.LOCK_EX)

    with pytest.raises(DataInUse, match=str(dead.pid)):
        Folder(tmp_path).take()
    os.close(lock)
