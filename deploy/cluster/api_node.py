"""An API node as a process: `cqs serve` with its log in a file, and a port that it keeps across restarts."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

from deploy.cluster.ports import ends_with_parent, signals_held

ROOT = Path(__file__).parents[2]
START_S = 120
STOP_S = 60


class ApiFailed(Exception):
    """A node did not start; the text contains the end of its log."""


class ApiNode:
    """`arguments` are passed to `cqs serve` and may be changed between a stop and a start; so may `environment`, which
    is added to this process's environment."""

    def __init__(self, name: str, folder: Path, port: int, arguments: Sequence[str]) -> None:
        self.name = name
        self.folder = folder
        self.port = port
        self.arguments = list(arguments)
        self.environment: dict[str, str] = {}
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def log(self) -> Path:
        """The log of all its runs: one JSON object per line."""
        return self.folder / "log"

    def launch(self) -> None:
        """Starts the process and returns at once."""
        self.folder.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "cqs", "serve", "--port", str(self.port), "--log-format", "json"]
        command += ["--data-dir", str(self.folder), *self.arguments]
        with self.log.open("ab") as log, signals_held():
            self._process = subprocess.Popen(
                command,
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                cwd=ROOT,
                env=os.environ | self.environment,
                start_new_session=True,
                preexec_fn=ends_with_parent(),
            )

    def wait(self, seconds: float = START_S) -> None:
        """Returns when /ready reports ready. Raises ApiFailed."""
        deadline = time.monotonic() + seconds
        while not self.is_ready():
            if self.has_ended():
                raise ApiFailed(f"{self.name} ended: {self.end_of_log()}")
            if time.monotonic() > deadline:
                raise ApiFailed(f"{self.name} was not ready in {seconds} s: {self.end_of_log()}")
            time.sleep(0.05)

    def start(self) -> None:
        """`launch` and `wait`."""
        self.launch()
        self.wait()

    def is_ready(self) -> bool:
        with contextlib.suppress(URLError, OSError), urlopen(f"{self.endpoint}/ready", timeout=5) as answer:
            return bool(answer.status == 200)
        return False

    def has_ended(self) -> bool:
        return self._process is None or self._process.poll() is not None

    def stop(self) -> int:
        """A graceful stop, forced after STOP_S; returns the exit code. Idempotent: 0 when nothing runs."""
        if self._process is None:
            return 0
        self.ask_to_stop()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(STOP_S)
        return self.kill()

    def ask_to_stop(self) -> None:
        """Sends SIGTERM, without waiting. Idempotent."""
        if not self.has_ended():
            self.resume()
            os.kill(self.pid, signal.SIGTERM)

    def kill(self) -> int:
        """kill -9; returns the exit code. Idempotent."""
        if self._process is None:
            return 0
        process, self._process = self._process, None
        process.kill()
        return process.wait()

    def pause(self) -> None:
        os.kill(self.pid, signal.SIGSTOP)

    def resume(self) -> None:
        os.kill(self.pid, signal.SIGCONT)

    def end_of_log(self) -> str:
        return self.log.read_text(errors="replace").strip()[-1_500:]
