"""If Spark is not installed, the audits say so in one line."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.unit.sources import ROOT


@pytest.mark.parametrize("module", ["spark_jobs", "spark_jobs.proof", "spark_jobs.streaming"])
def test_audit_without_spark_says_what_to_install(module: str) -> None:
    without_packages = [sys.executable, "-S", "-m", module, "journal"]
    done = subprocess.run(without_packages, capture_output=True, text=True, cwd=ROOT, check=False)

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "audit: Spark is not installed: pip install 'cqs-server[spark]'\n"
