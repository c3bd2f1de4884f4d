"""A journal file is locked by its writer from its creation, even if another process looks at it then."""

from __future__ import annotations

import fcntl
import os
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

from cqs.file_lock import wait_for_lock
from cqs.journal import writer
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


def test_a_file_that_was_finished_in_its_first_moment_is_not_written_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def overtaken(fd: int) -> None:
        finish_leftovers(tmp_path)
        wait_for_lock(fd)

    monkeypatch.setattr(writer, "wait_for_lock", overtaken)
    with pytest.raises(FileNotFoundError):
        JournalBench(tmp_path)
