"""What the commands reject before they start anything."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from spark_jobs import proof
from spark_jobs.__main__ import _arguments
from spark_jobs.arguments import pattern_of, refuse_missing
from spark_jobs.errors import JobError, NoJournal
from spark_jobs.prometheus import text_of
from spark_jobs.session import PARTITION_BYTES, SMALL, SMALL_BYTES_MAX, settings_for


def test_unknown_workload_is_refused_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert proof.main(["--workload", "cqs-11"]) == 2
    assert capsys.readouterr().err.startswith("audit: cqs-11 is not a workload: ")


def test_impossible_probability_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert proof.main(["--quit", "1.5"]) == 2
    assert "a probability is from 0 to below 1" in capsys.readouterr().err


def test_endpoint_needs_its_journal(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        proof.main(["--endpoint", "http://127.0.0.1:1"])

    assert ended.value.code == 2
    assert "go together" in capsys.readouterr().err


def test_audit_needs_a_folder(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        _arguments([])

    assert "FOLDER" in capsys.readouterr().err


@pytest.mark.parametrize("inside", ["journal", "data/journal"])
def test_a_folder_that_holds_a_journal_says_where(tmp_path: Path, inside: str) -> None:
    (tmp_path / inside).mkdir(parents=True)

    with pytest.raises(NoJournal, match=f"name {tmp_path / inside}"):
        refuse_missing([str(tmp_path)])

    (tmp_path / "a.jsonl.gz").touch()
    refuse_missing([str(tmp_path), str(tmp_path / inside)])


@pytest.mark.parametrize(
    "given", [["--messages", "-1"], ["--messages", "1e3"], ["--cassandra", "127.0.0.1", "--nodes", "0"]]
)
def test_invalid_counts_are_refused(capsys: pytest.CaptureFixture[str], given: list[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        proof.main(given)

    assert ended.value.code == 2
    assert "Traceback" not in capsys.readouterr().err


def test_several_nodes_need_a_redis_that_they_share(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        proof.main(["--cassandra", "127.0.0.1", "--nodes", "2"])

    assert "name it with --redis" in capsys.readouterr().err


def test_little_is_audited_without_waiting_for_compilers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.jsonl.gz").write_bytes(b"1" * 100)

    assert settings_for([str(tmp_path)]) == SMALL
    assert settings_for([str(tmp_path), "s3a://journals"]) == {}
    with (tmp_path / "b.jsonl.gz").open("wb") as large:
        large.truncate(SMALL_BYTES_MAX)
    monkeypatch.setenv("SPARK_ENV_LOADED", "1")
    assert settings_for([str(tmp_path)]) == {}


def test_a_shuffle_has_as_many_parts_as_there_is_work(tmp_path: Path) -> None:
    with (tmp_path / "a.jsonl.gz").open("wb") as large:
        large.truncate(SMALL_BYTES_MAX)
        assert settings_for([str(tmp_path)]) == {"spark.sql.shuffle.partitions": "8"}
        large.truncate(100 * PARTITION_BYTES)
    assert settings_for([str(tmp_path)]) == {"spark.sql.shuffle.partitions": "100"}
    (tmp_path / "a.jsonl.gz").rename(tmp_path / "unpacked.jsonl")
    assert settings_for([str(tmp_path)]) == {"spark.sql.shuffle.partitions": "100"}


def test_what_a_stream_has_read_is_no_work(tmp_path: Path) -> None:
    for name, written_s in (("read", 100), ("new", 200)):
        with (tmp_path / f"{name}.jsonl.gz").open("wb") as file:
            file.truncate(100 * PARTITION_BYTES if name == "read" else 100)
        os.utime(tmp_path / f"{name}.jsonl.gz", (written_s, written_s))

    assert settings_for([str(tmp_path)], since_s=150.0) == SMALL
    assert settings_for([str(tmp_path)]) == {"spark.sql.shuffle.partitions": "100"}


def test_large_counts_are_published_to_the_last_digit() -> None:
    assert text_of({"sent": [({"queue": 'a"b'}, 1_234_567)], "ratio": [({}, 0.125)]}) == (
        '# TYPE sent gauge\nsent{queue="a\\"b"} 1234567\n# TYPE ratio gauge\nratio 0.125\n'
    )


@pytest.mark.parametrize(
    ("folders", "pattern"),
    [
        (["/var/a"], "/var/a"),
        (["/var/a", "/var/a/"], "/var/a"),
        (["/var/node-2/journal", "/var/node-1/journal"], "/var/{node-1/journal,node-2/journal}"),
        (["/a", "/b"], "/{a,b}"),
        (["/var/node-1", "/var/node-12"], "/var/{node-1,node-12}"),
        (["/var/a", "/var/a/b"], "/var/{a,a/b}"),
        (["s3a://bucket/one", "s3a://bucket/two"], "s3a://bucket/{one,two}"),
    ],
)
def test_folders_of_a_stream_are_one_pattern(folders: list[str], pattern: str) -> None:
    assert pattern_of(folders) == pattern


@pytest.mark.parametrize("folders", [["/a", "s3a://bucket/a"], ["s3a://one/a", "s3a://two/a"]])
def test_folders_that_no_stream_can_read_together_are_refused(folders: list[str]) -> None:
    with pytest.raises(JobError, match="different file systems"):
        pattern_of(folders)
