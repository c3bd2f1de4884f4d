"""What the commands refuse before anything is started."""

from __future__ import annotations

from pathlib import Path

import pytest

from spark_jobs import proof
from spark_jobs.__main__ import _arguments
from spark_jobs.session import PARTITION_BYTES, SMALL, SMALL_BYTES_MAX, settings_for


def test_unknown_workload_is_refused_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert proof.main(["--workload", "cqs-11"]) == 2
    assert capsys.readouterr().err.startswith("audit: cqs-11 is no workload: ")


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
