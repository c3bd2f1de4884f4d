"""A Redis server as a process: empty at each start, because the cache is refilled from the store."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

from deploy.cluster.ports import ends_with_parent, signals_held
from deploy.cluster.started import Started

START_S = 60


class RedisProcess(Started):
    """A redis-server without persistence, on a Unix socket or (`port`) on 127.0.0.1. Start it in a `with` statement; it
    is stopped by its process ID, and can be restarted at the same address."""

    def __init__(self, *options: str, folder: Path | None = None, port: int = 0) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="cqs-redis-")) if folder is None else folder
        self.path = "" if port else str(self.folder / "redis.sock")
        self.port = port
        self._is_folder_ours = folder is None
        self._options = options
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def url(self) -> str:
        """In the form that `--redis` accepts."""
        return f"redis://127.0.0.1:{self.port}" if self.port else f"unix://{self.path}"

    def start(self) -> None:
        """Returns when it responds."""
        command = ["redis-server", "--port", str(self.port), "--save", "", "--appendonly", "no"]
        command += ["--bind", "127.0.0.1"] if self.port else ["--unixsocket", self.path]
        command += ["--dir", str(self.folder), "--daemonize", "no", *self._options]
        with signals_held():
            self._process = subprocess.Popen(
                command,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
                preexec_fn=ends_with_parent(),
            )
        deadline = time.monotonic() + START_S
        while not self._answers():
            assert self._process.poll() is None, f"{' '.join(command)} ended with {self._process.returncode}"
            assert time.monotonic() < deadline, f"no answer on {self.url} for {START_S} s"
            self._process.poll()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(0.01)

    def stop(self) -> None:
        """Kills it. Idempotent."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None
        if self.path:
            Path(self.path).unlink(missing_ok=True)

    def pause(self) -> None:
        os.kill(self.pid, signal.SIGSTOP)

    def resume(self) -> None:
        os.kill(self.pid, signal.SIGCONT)

    def __exit__(self, *_: object) -> None:
        self.stop()
        if self._is_folder_ours:
            shutil.rmtree(self.folder, ignore_errors=True)

    def _answers(self) -> bool:
        family, place = (socket.AF_INET, ("127.0.0.1", self.port)) if self.port else (socket.AF_UNIX, self.path)
        with contextlib.suppress(OSError), socket.socket(family) as connection:
            connection.settimeout(START_S)
            connection.connect(place)
            connection.sendall(b"PING\r\n")
            return bool(connection.recv(64))
        return False
