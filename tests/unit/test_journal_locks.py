"""A journal file is locked by its writer from its creation, even if another process looks at it then."""

from __future__ import annotations

import fcntl
import os
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

from cqs.file_lock import lock, wait_for_lock
from cqs.journal import files, writer
from cqs.journal.files import files_of, finish_leftovers
from tests.unit.journal_bench import JournalBench


def test_a_file_is_its_writers_whoever_looks_at_it_in_its_first_moment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, wanted = os.open, threading.Event()

    def let_go(held: int) -> None:
        wanted.wait()
        os.close(held)

    def looked_at(path: Path, *flags: int) -> int:
        fd = made(path, *flags)
        held = made(path, os.O_RDONLY)
        fcntl.flock(held, fcntl.LOCK_SH)
        threading.Thread(target=let_go, args=(held,)).start()
        return fd

    def waited_for(fd: int) -> None:
        wanted.set()
        wait_for_lock(fd)

    monkeypatch.setattr(writer, "os", SimpleNamespace(**vars(os) | {"open": looked_at}))
    monkeypatch.setattr(writer, "wait_for_lock", waited_for)
    JournalBench(tmp_path)

    finish_leftovers(tmp_path)
    assert [file.is_finished for file in files_of(tmp_path)] == [False]


def test_a_file_that_is_taken_for_a_leftover_in_its_first_moment_is_created_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    overtakers = [finish_leftovers, finish_leftovers]

    def overtaken(fd: int) -> None:
        if overtakers:
            overtakers.pop()(tmp_path)
        wait_for_lock(fd)

    monkeypatch.setattr(writer, "wait_for_lock", overtaken)
    bench = JournalBench(tmp_path)
    finish_leftovers(tmp_path)

    [file] = files_of(tmp_path)
    assert (overtakers, file.file, file.is_finished) == ([], 1, False)
    assert [line.event.value for line in bench.lines()] == ["opened"]


def test_an_empty_file_of_a_dead_process_is_deleted(tmp_path: Path) -> None:
    bench = JournalBench(tmp_path)
    [file] = files_of(tmp_path)
    bench.journal.writing.abandon()
    os.truncate(file.path, 0)

    finish_leftovers(tmp_path)

    assert list(tmp_path.iterdir()) == []


def test_a_file_that_was_created_again_is_not_deleted_by_one_that_had_opened_the_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = JournalBench(tmp_path)
    [file] = files_of(tmp_path)
    bench.journal.writing.abandon()
    os.truncate(file.path, 0)
    again: list[int] = []

    def late(fd: int) -> bool:
        file.path.unlink()
        again.append(os.open(file.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL))
        return lock(again[0]) and lock(fd)

    monkeypatch.setattr(files, "lock", late)
    try:
        finish_leftovers(tmp_path)
    finally:
        os.close(again[0])

    assert [file.path.exists() for file in files_of(tmp_path)] == [True]
