"""`cqs journal` on a folder with a journal."""

from __future__ import annotations

import gzip
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from cqs.cli import cli
from cqs.commands import journal as command
from cqs.errors import CannotStart
from cqs.events import EventName, Line
from cqs.journal.files import files_of, finish_leftovers
from cqs.journal.journal import BEAT_MS
from tests.unit.journal_bench import QUEUE, JournalBench


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    bench = JournalBench(tmp_path, file_bytes_max=500)
    bench.send(*[f"message {number}" for number in range(6)])
    bench.flush()
    bench.send("last")
    bench.flush()
    bench.journal.writing.abandon()
    return tmp_path


def run(folder: Path, *arguments: str) -> str:
    result = CliRunner().invoke(cli, ["journal", "--dir", str(folder), *arguments])
    assert result.exit_code == 0, result.output
    return result.output


def test_list_shows_every_file_and_the_sum(folder: Path) -> None:
    lines = run(folder, "list").splitlines()

    assert [line.split()[-1] for line in lines[:2]] == ["finished", "open"]
    assert lines[2].startswith("2 files, ")


def test_tail_prints_the_latest_lines(folder: Path) -> None:
    lines = run(folder, "tail", "-n", "1").splitlines()

    assert len(lines) == 1
    assert '"event":"sent"' in lines[0]


def test_tail_prints_what_is_written_now_though_the_clock_was_ahead_before(tmp_path: Path) -> None:
    ahead = JournalBench(tmp_path)
    ahead.send("before")
    ahead.flush()
    ahead.journal.writing.abandon()
    finish_leftovers(tmp_path)
    [file] = files_of(tmp_path)
    file.path.rename(tmp_path / file.path.name.replace(file.start, "20991231T235959999"))
    now = JournalBench(tmp_path, seed=2)
    now.send("now")
    now.flush()

    (line,) = run(tmp_path, "tail", "-n", "1").splitlines()

    assert msgspec.json.decode(line, type=Line).incarnation == files_of(tmp_path)[0].incarnation


def test_tail_of_a_damaged_file_says_so(tmp_path: Path, folder: Path) -> None:
    files = files_of(folder)
    files[-1].path.unlink()
    files[0].path.write_bytes(files[0].path.read_bytes()[:50])

    with pytest.raises(CannotStart, match=r"\.gz is damaged: "):
        CliRunner().invoke(cli, ["journal", "--dir", str(folder), "tail"], catch_exceptions=False)


def test_tail_of_a_file_that_is_finished_meanwhile_goes_on_with_the_finished_one(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed = files_of(folder)
    finish_leftovers(folder)
    monkeypatch.setattr(command, "files_of", lambda _: listed)

    assert '"event":"sent"' in run(folder, "tail", "-n", "1")


def test_tail_tells_events_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    bench = JournalBench(tmp_path)
    for number in range(3):
        bench.send(f"message {number}")
        bench.journal.deleted(QUEUE, [number + 1, number + 2])
    bench.flush()
    bench.send("last")
    bench.flush()
    [file] = files_of(tmp_path)
    with file.path.open("ab") as torn:
        torn.write(b'{"v":2,"node"')

    found = [msgspec.json.decode(text, type=Line) for text in run(tmp_path, "tail", "-n", "5").splitlines()]

    assert [line.number for line in found] == [7, 8, 9, 10, 11]
    assert [line.event.value for line in found] == ["deleted", "sent", "deleted", "deleted", "sent"]
    assert len(run(tmp_path, "tail", "-n", "100").splitlines()) == 11
    assert run(tmp_path, "tail", "-n", "0") == ""


def test_tail_leaves_out_what_says_nothing_but_that_the_server_lives(tmp_path: Path) -> None:
    bench = JournalBench(tmp_path)
    bench.send("message 1")
    bench.send("message 2")
    for _ in range(5):
        bench.flush()
        bench.clock.advance_ms(BEAT_MS)
        bench.journal.beat()
    bench.flush()

    assert bench.names()[-5:] == ["alive"] * 5
    assert [text.count('"event":"sent"') for text in run(tmp_path, "tail", "-n", "2").splitlines()] == [1, 1]


def test_what_is_followed_begins_where_the_latest_events_ended(folder: Path) -> None:
    """A line that was only partly written then is shown completely."""
    latest = files_of(folder)[-1]
    raw = latest.path.read_bytes()
    last = raw.rstrip(b"\n").rfind(b"\n") + 1

    shown, read = command._shown(raw[: last + 20], 100)
    followed = command._followed(folder, command._ends_of(files_of(folder), read))

    assert read == last
    assert len(shown) == raw.count(b"\n") - 1
    assert '"event":"sent"' in next(followed)


@pytest.mark.parametrize("is_finished", [False, True])
def test_nothing_is_left_out_where_one_file_ends_and_the_next_begins(tmp_path: Path, is_finished: bool) -> None:
    bench = JournalBench(tmp_path, file_bytes_max=500)
    bench.send("first")
    bench.flush()
    [file] = files_of(tmp_path)
    followed = command._followed(tmp_path, {})
    told = [next(followed), next(followed)]

    bench.send(*[f"message {number}" for number in range(6)])
    bench.flush()
    if not is_finished:
        file.path.write_bytes(gzip.decompress(file.path.with_suffix(".gz").read_bytes()))
    told += [next(followed) for _ in range(8)]

    assert [msgspec.json.decode(text, type=Line).number for text in told] == list(range(1, 11))


def test_the_events_of_all_workers_are_followed_and_no_older_ones(tmp_path: Path) -> None:
    workers = [JournalBench(tmp_path, seed=seed) for seed in (1, 2)]
    for worker in workers:
        worker.send("before")
        worker.flush()
    _, read = command._shown(files_of(tmp_path)[-1].path.read_bytes(), 0)
    followed = command._followed(tmp_path, command._ends_of(files_of(tmp_path), read))

    for worker in workers:
        worker.send("after")
        worker.flush()
    told = [msgspec.json.decode(next(followed), type=Line) for _ in workers]

    assert len({line.incarnation for line in told}) == 2
    assert {line.event for line in told} == {EventName.SENT}


def test_files_that_begin_and_end_between_two_looks_are_followed(tmp_path: Path) -> None:
    followed = command._followed(tmp_path, {})
    bench = JournalBench(tmp_path, file_bytes_max=500)
    for number in range(20):
        bench.send(f"message {number}")
        bench.flush()

    told = [msgspec.json.decode(next(followed), type=Line).number for _ in range(30)]

    assert len(files_of(tmp_path)) > 3
    assert told == list(range(1, 31))


def test_tail_of_nothing_is_nothing(tmp_path: Path) -> None:
    assert run(tmp_path, "tail") == ""


@pytest.mark.parametrize("given", [["list"], ["tail"], ["prune", "--keep", "1GB"]])
def test_folder_that_is_not_there_is_no_empty_journal(tmp_path: Path, given: list[str]) -> None:
    result = CliRunner().invoke(cli, ["journal", "--dir", str(tmp_path / "missing"), *given])

    assert isinstance(result.exception, CannotStart)
    assert "There is no journal in" in str(result.exception)


def test_prune_finishes_what_was_left_and_keeps_what_was_asked_for(folder: Path) -> None:
    assert run(folder, "prune", "--keep", "1GB") == "deleted 0 files, 0 bytes\n"
    assert [file.is_finished for file in files_of(folder)] == [True, True]
    assert CliRunner().invoke(cli, ["journal", "--dir", str(folder), "prune"]).exit_code == 2
    assert run(folder, "prune", "--keep", "0").startswith("deleted 2 files, ")
    assert files_of(folder) == []


def test_size_that_is_none_is_refused(folder: Path) -> None:
    result = CliRunner().invoke(cli, ["journal", "--dir", str(folder), "prune", "--keep", "much"])

    assert result.exit_code == 2
    assert "'much'; expected a size" in result.output


def test_folder_in_the_home_of_nobody_is_refused() -> None:
    result = CliRunner().invoke(cli, ["journal", "--dir", "~nobody-of-that-name/journal", "list"])

    assert (result.exit_code, "home directory" in result.output) == (2, True)


def test_folder_comes_from_the_settings(folder: Path, tmp_path: Path) -> None:
    result = CliRunner().invoke(cli, ["journal", "list"], env={"CQS_JOURNAL_DIR": str(folder)})

    assert "2 files, " in result.output


def test_folder_may_be_named_before_and_after_the_command(folder: Path) -> None:
    after = CliRunner().invoke(cli, ["journal", "list", "--dir", str(folder)])
    both = CliRunner().invoke(cli, ["journal", "--dir", "/nowhere", "list", "--dir", str(folder)])

    assert after.output == both.output == run(folder, "list")


@pytest.mark.parametrize("arguments", [["list"], ["tail"], ["tail", "-f"], ["prune", "--keep", "0"]])
def test_data_directory_given_as_a_journal_is_told_where_the_journal_is(arguments: list[str], tmp_path: Path) -> None:
    (tmp_path / "journal").mkdir()

    with pytest.raises(CannotStart, match=f"name {tmp_path}/journal, which is in it"):
        CliRunner().invoke(cli, ["journal", *arguments, "--dir", str(tmp_path)], catch_exceptions=False)
