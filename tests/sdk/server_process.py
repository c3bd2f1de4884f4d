"""A real server in its own process: started as a user would, stopped by SIGTERM, or killed by SIGKILL."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from urllib.request import urlopen

from tests.processes import descendants_of, hurry

_ROOT = Path(__file__).parents[2]
_ENDPOINT = re.compile(r"http://127\.0\.0\.1:(\d+)")
_START_S_MAX = 100.0
_STOP_S_MAX = 60.0


class ServerProcess:
    """`cqs serve` with a data directory and a port chosen by the system; a restart keeps both. `program`: Python's
    arguments for `cqs`."""

    def __init__(self, data_dir: Path, *options: str, program: Sequence[str] = ("-m", "cqs")) -> None:
        self._data_dir = data_dir
        self._options = options
        self._program = program
        self._log_path = data_dir.with_name(data_dir.name + ".log")
        self._process: subprocess.Popen[bytes] | None = None
        self.port = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def log(self) -> str:
        return self._log_path.read_text(errors="replace")

    def start(self) -> None:
        """Starts the server and waits until it reports that it is ready. The recorder of its journal, which by then has
        begun its first file, is taken out of SCHED_IDLE."""
        environment = {name: value for name, value in os.environ.items() if not name.startswith("CQS_")}
        environment["PYTHONUNBUFFERED"] = "1"
        command = [sys.executable, *self._program, "serve", "--port", str(self.port), "--data-dir", str(self._data_dir)]
        with self._log_path.open("wb") as log:
            self._process = subprocess.Popen(
                [*command, *self._options], stdout=log, stderr=log, stdin=subprocess.DEVNULL, cwd=_ROOT, env=environment
            )
        give_up = time.monotonic() + _START_S_MAX
        while not self._is_ready():
            if self._process.poll() is not None or time.monotonic() > give_up:
                self.kill()
                raise AssertionError(f"the server did not start:\n{self.log}")
            time.sleep(0.02)
        for child in descendants_of(self.pid):
            hurry(child)

    def stop(self) -> int:
        """Stops the server as an operator would. Returns its exit status."""
        assert self._process is not None
        self._process.send_signal(signal.SIGTERM)
        try:
            return self._process.wait(_STOP_S_MAX)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f"the server did not stop on SIGTERM:\n{self.log}") from None

    def kill(self) -> None:
        """Sends SIGKILL, so nothing is flushed or announced, and waits until the process is gone."""
        self.shoot()
        assert self._process is not None
        self._process.wait()

    def shoot(self) -> None:
        """Sends SIGKILL without waiting; `kill` waits for the end of the process."""
        assert self._process is not None
        self._process.kill()

    def _is_ready(self) -> bool:
        if self.port == 0:
            endpoint = _ENDPOINT.search(self.log)
            if endpoint is None:
                return False
            self.port = int(endpoint.group(1))
        try:
            with urlopen(f"{self.url}/ready", timeout=5) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False
