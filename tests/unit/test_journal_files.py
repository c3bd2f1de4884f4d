"""The journal's files: rotation, leftovers of a dead process, the disk budget."""

from __future__ import annotations

import errno
import gzip
import os
import random
from pathlib import Path

import pytest

from cqs.clock import SystemClock
from cqs.errors import CannotStart
from cqs.events import EventName
from cqs.file_lock import lock
from cqs.journal import files
from cqs.journal.files import files_of, finish_leftovers, node_name, prune
from cqs.journal.journal import Journal
from cqs.journal.recorder import leave_unended
from cqs.journal.rules import JournalRules
from cqs.testing.clock import ManualClock
from cqs.testing.journal import JournalHere
from tests.unit.journal_bench import QUEUE, JournalBench, lines_of


def test_full_file_is_finished_and_the_next_one_goes_on_counting(tmp_path: Path) -> None:
    bench = JournalBench(tmp_path, file_bytes_max=500)
    bench.send(*["x"] * 5)
    bench.flush()
    bench.send("y")
    bench.flush()

    first, second = files_of(tmp_path)
    assert (first.is_finished, first.file, second.is_finished, second.file) == (True, 1, False, 2)
    assert [line.number for line in lines_of(first.path)] == [1, 2, 3, 4, 5, 6, 7]
    assert [(line.number, line.event.value) for line in lines_of(second.path)] == [(8, "opened"), (9, "sent")]


def test_a_finished_file_is_readable_by_those_who_could_read_it_before(tmp_path: Path) -> None:
    bench = JournalBench(tmp_path)
    [file] = files_of(tmp_path)
    bench.journal.writing.abandon()
    os.chmod(file.path, 0o640)
    if os.geteuid() == 0:
        os.chown(file.path, 12, 34)
    before = file.path.stat()

    finish_leftovers(tmp_path)

    after = files_of(tmp_path)[0].path.stat()
    assert (after.st_mode, after.st_uid, after.st_gid) == (before.st_mode, before.st_uid, before.st_gid)


def test_only_the_file_that_ends_in_order_says_that_it_is_the_last(tmp_path: Path) -> None:
    bench = JournalBench(tmp_path, file_bytes_max=600)
    for _ in range(3):
        bench.send(*["x"] * 10)
        bench.flush()
    bench.journal.finish()

    closing = [line for line in bench.lines() if line.event is EventName.CLOSED]
    assert len(closing) >= 3
    assert [line.is_last for line in closing] == [False] * (len(closing) - 1) + [True]


def test_old_file_is_finished_unless_nothing_was_told(tmp_path: Path) -> None:
    bench = JournalBench(tmp_path, file_age_ms=60_000)
    bench.clock.advance_ms(60_000)
    bench.journal.beat()
    bench.flush()
    assert bench.names() == ["opened", "alive"]
    assert len(files_of(tmp_path)) == 1

    bench.send("x")
    bench.flush()

    assert [file.is_finished for file in files_of(tmp_path)] == [True, False]


def test_file_of_a_dead_process_is_finished_without_a_closing_line(tmp_path: Path) -> None:
    dead = JournalBench(tmp_path)
    dead.send("x")
    dead.flush()
    dead.journal.writing.abandon()

    JournalBench(tmp_path)

    first, second = sorted(files_of(tmp_path), key=lambda file: not file.is_finished)
    assert (first.is_finished, second.is_finished) == (True, False)
    assert [line.event.value for line in lines_of(first.path)] == ["opened", "sent"]


def test_file_of_a_living_process_is_left_alone(tmp_path: Path) -> None:
    JournalBench(tmp_path)

    assert finish_leftovers(tmp_path) == 0
    assert [file.is_finished for file in files_of(tmp_path)] == [False]


def test_crash_between_rename_and_unlink_leaves_one_file(tmp_path: Path) -> None:
    bench = JournalBench(tmp_path)
    [opened] = files_of(tmp_path)
    bench.journal.writing.abandon()
    raw = opened.path.read_bytes()
    finish_leftovers(tmp_path)
    opened.path.write_bytes(raw)

    finish_leftovers(tmp_path)

    assert [file.is_finished for file in files_of(tmp_path)] == [True]


def test_oldest_finished_files_go_first_and_the_journal_says_how_many(tmp_path: Path) -> None:
    bench = JournalBench(tmp_path, file_bytes_max=1, disk_bytes_max=1_500)
    for _ in range(8):
        bench.send("x")
        bench.flush()
    bench.journal.finish()

    kept = files_of(tmp_path)
    assert sum(file.size for file in kept) <= 1_500
    assert kept[0].file > 1
    assert [file.file for file in kept] == list(range(kept[0].file, kept[0].file + len(kept)))
    assert any(line.event is EventName.PRUNED and line.count for line in bench.lines())


def test_pruning_to_nothing_spares_the_file_being_written(tmp_path: Path) -> None:
    bench = JournalBench(tmp_path, file_bytes_max=1)
    bench.send("x")
    bench.flush()

    count, freed = prune(tmp_path, 0)

    assert (count, freed > 0) == (1, True)
    assert [file.is_finished for file in files_of(tmp_path)] == [False]


def test_incarnation_names_the_one_before_of_its_node_and_once(tmp_path: Path) -> None:
    clock, rng = ManualClock(), random.Random(1)
    for node in ("api-1", "api-2", "api-1", "api-1"):
        clock.advance_ms(1)
        journal = JournalHere(JournalRules(tmp_path, node, file_bytes_max=1), clock, rng)
        for _ in range(2):
            journal.revealed(QUEUE, 1)
            journal.flush()
        journal.writing.abandon()

    opened = [line for file in files_of(tmp_path) for line in lines_of(file.path) if line.event is EventName.OPENED]
    first, other, second, third = dict.fromkeys(line.incarnation for line in opened)
    named = [(line.incarnation, line.predecessor) for line in opened if line.file == 1]
    assert named == [(first, ""), (other, ""), (second, first), (third, second)]
    assert {line.predecessor for line in opened if line.file > 1} == {""}


def test_start_without_a_journal_where_one_was_kept_leaves_a_file_without_an_end(tmp_path: Path) -> None:
    clock, rng, rules = ManualClock(), random.Random(1), JournalRules(tmp_path / "journal", "api-1")
    leave_unended(rules, clock, rng)
    assert not rules.folder.exists()
    JournalHere(rules, clock, rng).finish()
    clock.advance_ms(1)

    leave_unended(rules, clock, rng)

    kept, silent = files_of(rules.folder)
    assert [line.event for line in lines_of(silent.path)] == [EventName.OPENED]
    clock.advance_ms(1)
    later = JournalHere(rules, clock, rng)
    later.finish()
    assert lines_of(files_of(rules.folder)[-1].path)[0].predecessor == silent.incarnation
    assert lines_of(kept.path)[-1].is_last


def test_full_disk_leaves_no_empty_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(fd: int, data: bytes) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    bench = JournalBench(tmp_path)
    monkeypatch.setattr("cqs.journal.writer.os.write", full)
    for _ in range(3):
        bench.send("x")
        bench.flush()
        bench.clock.advance_ms(1_000)

    assert len(files_of(tmp_path)) == 1


def test_foreign_files_are_no_journal(tmp_path: Path) -> None:
    for name in ("notes.txt", "a.jsonl.gz", "api.20260131T120000250.0123456789abc.000001.jsonl.gz.part"):
        (tmp_path / name).write_text("x")

    assert files_of(tmp_path) == []
    assert prune(tmp_path, 0) == (0, 0)
    assert files_of(tmp_path / "missing") == []


async def test_folder_that_is_none_stops_the_start_with_a_reason(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    journal = Journal(JournalRules(tmp_path / "file" / "journal", "api-1"), SystemClock())

    with pytest.raises(CannotStart, match=r"journal can't be written to .*: Not a directory"):
        await journal.open()

    assert journal.recorder.pid is None


def test_lock_belongs_to_one(tmp_path: Path) -> None:
    path = tmp_path / "x"
    one, two = (os.open(path, os.O_RDWR | os.O_CREAT) for _ in range(2))
    try:
        assert (lock(one), lock(two)) == (True, False)
    finally:
        os.close(one)
        os.close(two)


def test_any_host_name_becomes_a_node_name() -> None:
    assert node_name("api/1 ü") == "api-1--"
    assert node_name("") == "node"
    assert len(node_name("a" * 100)) == 64
    assert node_name("a" * 64 + "-1") != node_name("a" * 64 + "-2"), "workers of a machine with a long name"


def test_where_there_is_no_fast_compressor_files_are_finished_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "_GzipFile", gzip.GzipFile)
    bench = JournalBench(tmp_path)
    bench.send("x")
    bench.journal.finish()

    [file] = files_of(tmp_path)
    assert file.is_finished
    assert bench.names() == ["opened", "sent", "closed"]
