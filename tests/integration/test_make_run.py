"""`make run` stays in the foreground, uses the settings in its environment, and forwards SIGTERM. Its data are in .cqs
unless the environment or the settings file names another folder."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest

from tests.integration.process import ROOT, STOP_S_MAX, Served, lines_until_serving
from tests.needs import absent


@pytest.fixture
def is_set_up() -> None:
    """Requires that the environment of `make run` is installed, so that the test installs nothing."""
    stamp = ROOT / ".venv" / ".serve"
    if not stamp.exists() or stamp.stat().st_mtime < (ROOT / "pyproject.toml").stat().st_mtime:
        absent("needs what `make run` installs", "make test")


@pytest.mark.parametrize("is_whole_group", [False, True], ids=["make", "its process group"])
@pytest.mark.usefixtures("is_set_up")
def test_sigterm_ends_the_server_in_order(tmp_path: Path, is_whole_group: bool) -> None:
    process = subprocess.Popen(
        ["make", "--silent", "run"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        text=True,
        cwd=ROOT,
        env=os.environ | {"CQS_PORT": "0", "CQS_DATA_DIR": str(tmp_path / "data")},
        start_new_session=True,
    )
    try:
        server = Served(process, lines_until_serving(process))
        assert server.get("/ready")[0] == 200
        assert server.lines[-1]["data"].startswith(str(tmp_path))
        if is_whole_group:
            os.killpg(process.pid, signal.SIGTERM)
        else:
            process.send_signal(signal.SIGTERM)
        output, _ = process.communicate(timeout=STOP_S_MAX)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)

    assert output.splitlines()[-1].find('"event":"stopped"') > 0


@pytest.mark.parametrize(
    ("given", "settings", "told"),
    [
        ("", None, ".cqs"),
        ("", "port = 0\n# data_dir = '/data'\n", ".cqs"),
        ("", "port = 0\n data_dir = '/data'\n", "the file's"),
        ("", "\"data_dir\" = '/data'\n", "the file's"),
        ("/given", None, "/given"),
        ("/given", "data_dir = '/data'\n", "/given"),
    ],
)
def test_data_lies_where_it_is_told_or_in_the_clone(
    tmp_path: Path, given: str, settings: str | None, told: str
) -> None:
    stub = tmp_path / "bin" / "cqs"
    stub.parent.mkdir()
    stub.write_text('#!/bin/sh\necho "${CQS_DATA_DIR:-the file\'s}"\n')
    stub.chmod(0o755)
    (tmp_path / ".serve").touch()
    config = tmp_path / "cqs.toml"
    if settings is not None:
        config.write_text(settings)

    done = subprocess.run(
        ["make", "--silent", "run", f"VENV={tmp_path}"],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env=os.environ | {"CQS_DATA_DIR": given, "CQS_CONFIG": "" if settings is None else str(config)},
    )

    assert (done.stdout, done.stderr) == (f"{told}\n", "")
