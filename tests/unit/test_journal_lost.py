"""The journal's folder or file is lost, or the disk is full, during writes: it continues and reports what is
missing."""

from __future__ import annotations

import errno
import shutil
from pathlib import Path

import pytest

from cqs.journal.files import files_of, finish_leftovers
from tests.unit.journal_bench import JournalBench


@pytest.fixture
def bench(tmp_path: Path) -> JournalBench:
    return JournalBench(tmp_path / "journal")


def notes_of(bench: JournalBench) -> list[tuple[str, object]]:
    return [(event, fields.get("reason")) for _, event, fields in bench.journal.writing.report().notes]


def refuse(*_: object) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_folder_that_was_deleted_is_made_again_and_what_was_in_its_open_file_is_missing(bench: JournalBench) -> None:
    bench.send("lost", "lost too")
    bench.flush()
    shutil.rmtree(bench.folder)
    bench.send("lost with the file")
    bench.flush()
    bench.send("kept")
    bench.journal.finish()

    assert bench.names() == ["opened", "dropped_events", "sent", "closed"]
    lines = bench.lines()
    assert lines[1].count == 3
    assert [line.number for line in lines] == [5, 6, 7, 8]
    assert bench.journal.writing.report().lost == 3


def test_a_file_that_was_deleted_is_noticed_by_the_next_look(bench: JournalBench) -> None:
    bench.send("lost")
    bench.flush()
    files_of(bench.folder)[0].path.unlink()
    bench.flush()

    assert bench.names() == ["opened", "dropped_events"]
    assert notes_of(bench) == [("journal_write_failed", "its file was deleted"), ("journal_events_dropped", None)]


def test_a_data_folder_that_is_gone_is_not_made_again_for_the_journal(tmp_path: Path) -> None:
    bench = JournalBench(tmp_path / "data" / "journal")
    shutil.rmtree(tmp_path / "data")
    bench.send("lost")
    bench.flush()

    assert not (tmp_path / "data").exists()
    assert notes_of(bench)[-1] == ("journal_write_failed", "No such file or directory")


def test_a_full_disk_is_told_once_however_long_it_is_full(bench: JournalBench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cqs.journal.writer.os.write", refuse)
    for _ in range(5):
        bench.send("x")
        bench.flush()
        bench.clock.advance_ms(1_000)
    monkeypatch.undo()
    bench.send("kept")
    bench.flush()
    monkeypatch.setattr("cqs.journal.writer.os.write", refuse)
    bench.send("x")
    bench.flush()

    assert [event for event, _ in notes_of(bench)] == [
        "journal_write_failed",
        "journal_events_dropped",
        "journal_write_failed",
    ]


def test_what_a_full_disk_can_not_compress_leaves_nothing_there(
    bench: JournalBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.journal.writing.abandon()
    monkeypatch.setattr("shutil.copyfileobj", refuse)

    with pytest.raises(OSError, match="No space left"):
        finish_leftovers(bench.folder)

    assert [path.name for path in bench.folder.iterdir()] == [file.path.name for file in files_of(bench.folder)]
