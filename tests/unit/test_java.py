"""A Java that Cassandra can't run on is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from deploy.cluster import java


@pytest.mark.parametrize(
    ("version", "said"),
    [
        ("1.8.0_392", "Cassandra needs Java 17 or 21, and `java` is Java 8. "),
        ("11.0.25", "Cassandra needs Java 17 or 21, and `java` is Java 11. "),
        ("17.0.15", ""),
        ("21.0.13", ""),
        ("25", "Cassandra needs Java 17 or 21, and `java` is Java 25. "),
    ],
)
def test_a_java_that_cassandra_cannot_run_on_is_named(
    version: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "java").write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2026-10-20' >&2\n")
    (tmp_path / "java").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))

    assert java.advice() == said


def test_nothing_is_said_without_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    assert java.advice() == ""
