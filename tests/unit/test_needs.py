"""A test whose programs are missing is skipped with the command to install them, and fails in CI."""

from __future__ import annotations

import re

import pytest

from tests import needs
from tests.unit.sources import ROOT, sources

_SKIP = re.compile(r"pytest\.(skip|importorskip|mark\.skip\w*|xfail|mark\.xfail)\b")


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


def test_no_other_way_to_skip_is_used() -> None:
    """Any other skip would also skip in CI."""
    others = [source.path for source in sources("tests") if _SKIP.search(source.text)]

    assert others == ["tests/needs.py", "tests/unit/test_needs.py"]


def test_what_tests_need_is_brought_to_ci() -> None:
    brought = dict(re.findall(r"^need (\S+) (\S+)$", (ROOT / ".ci" / "provision").read_text(), re.MULTILINE))

    assert set(needs.PACKAGES) <= set(brought)
