"""A test whose needs are not met is skipped with the command that helps, and fails in CI."""

from __future__ import annotations

import pytest

from tests import needs


def test_absence_skips_with_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CI", raising=False)

    with pytest.raises(pytest.skip.Exception, match="needs redis-server; to run it: apt-get install redis-server"):
        needs.absent("needs redis-server", "apt-get install redis-server")


def test_absence_fails_in_ci(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")

    with pytest.raises(pytest.fail.Exception, match="needs redis-server"):
        needs.absent("needs redis-server", "apt-get install redis-server")


def test_programs_that_are_there_are_not_missing() -> None:
    assert needs.missing_programs(("sh", "no-such-program-anywhere")) == ["no-such-program-anywhere"]
