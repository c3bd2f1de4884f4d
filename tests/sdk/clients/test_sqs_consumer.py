"""sqs-consumer and the AWS SDK for JavaScript, which checks every digest itself."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from tests.needs import needs
from tests.sdk.server_process import ServerProcess

_SOURCES = Path(__file__).with_name("node")
_BUILD = Path(__file__).parents[3] / "build" / "node-clients"
_LOCK = "package-lock.json"

pytestmark = needs("node", "npm")


@pytest.fixture(scope="module")
def script() -> Path:
    """The script, beside its installed modules."""
    is_installed = (_BUILD / ".installed").exists() and (_BUILD / _LOCK).read_bytes() == (_SOURCES / _LOCK).read_bytes()
    shutil.copytree(_SOURCES, _BUILD, dirs_exist_ok=True)
    if not is_installed:
        command = ["npm", "ci", "--no-audit", "--no-fund"]
        installed = subprocess.run(command, cwd=_BUILD, capture_output=True, text=True, timeout=110)
        assert installed.returncode == 0, installed.stderr
        (_BUILD / ".installed").touch()
    return _BUILD / "consume.mjs"


def test_consumer_handles_every_message_and_sees_failed_ones_again(server: ServerProcess, script: Path) -> None:
    count = 100
    command = ["node", str(script), server.url, "node-consumer", str(count)]
    run = subprocess.run(command, cwd=_BUILD, capture_output=True, text=True, timeout=60)
    assert run.returncode == 0, run.stderr
    seen = json.loads(run.stdout.splitlines()[-1])
    every = [f"message {number}" for number in range(count)]
    sevens = [body for body in every if body.endswith("7")]
    assert seen["errors"] == []
    assert Counter(seen["handled"]) == Counter(every)
    assert sorted(seen["failed"]) == sorted(sevens)
    assert seen["counts"] == {body: 2 if body in sevens else 1 for body in every}
