"""Programs that some tests need beyond Python packages, and the command that installs them.

    @needs("redis-server")
    def test_…

Without the program the test is skipped, and the summary says so, with the command. With CI=true it fails instead, so
that no test is skipped unnoticed.
"""

from __future__ import annotations

import os
import shutil
from typing import NoReturn

import pytest

PACKAGES = {
    "redis-server": "redis-server",
    "node": "nodejs",
    "npm": "npm",
    "java": "default-jre-headless",
    "javac": "default-jdk-headless",
    "mvn": "maven",
    "go": "golang-go",
    "chromium": "chromium",
    "curl": "curl",
    "prometheus": "prometheus",
    "promtool": "prometheus",
    "systemd-analyze": "systemd",
    "prlimit": "util-linux",
}


def needs(*programs: str) -> pytest.MarkDecorator:
    """Marks a test that needs these programs."""
    unknown = set(programs) - PACKAGES.keys()
    assert not unknown, f"add {unknown} to tests/needs.py"
    return pytest.mark.needs(*programs)


def missing_programs(programs: tuple[str, ...]) -> list[str]:
    """Returns the programs that are not on the PATH."""
    return [program for program in programs if shutil.which(program) is None]


def check(item: pytest.Item) -> None:
    """Skips, or fails, a test whose programs are missing. Called before each test."""
    missing = [name for mark in item.iter_markers("needs") for name in missing_programs(mark.args)]
    if missing:
        packages = " ".join(sorted({PACKAGES[name] for name in missing}))
        absent(f"needs {', '.join(missing)}", f"apt-get install {packages}")


def absent(what: str, remedy: str) -> NoReturn:
    """Skips the test with a reason, or fails it with CI=true."""
    text = f"{what}; to run it: {remedy}"
    if os.environ.get("CI") == "true":
        pytest.fail(text, pytrace=False)
    pytest.skip(text)
