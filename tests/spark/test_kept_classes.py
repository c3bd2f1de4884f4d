"""The archive of Spark's classes, which `make test` writes before the tests."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spark_jobs import kept_classes
from spark_jobs.errors import JobError
from spark_jobs.session import ARCHIVE
from tests import needs


def test_every_session_maps_it(spark: SparkSession) -> None:
    if not ARCHIVE.exists():
        needs.absent("needs the classes of Spark's JVM", "python -m spark_jobs.kept_classes")
    gateway = spark.sparkContext._gateway
    assert gateway is not None
    assert str(ARCHIVE) in Path(f"/proc/{gateway.proc.pid}/maps").read_text(), "of another Java: remove it"


def test_folder_that_can_not_be_written_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(kept_classes, "ARCHIVE", tmp_path / "missing" / "classes")

    assert kept_classes.main() == 2

    assert str(tmp_path / "missing") in capsys.readouterr().err


def test_java_that_wrote_nothing_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_classes, "ARCHIVE", tmp_path / "classes")

    with pytest.raises(JobError, match="no class data sharing"):
        kept_classes.place(tmp_path / "archive")
