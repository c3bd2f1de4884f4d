"""A real Redis of the test session, on a private unix socket, and more of them for tests that stop or change theirs."""

from __future__ import annotations

import contextlib
import ctypes
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from cqs.cache.redis.connection import Address
from cqs.cache.redis.server import RedisServer
from cqs.cluster.breaker import Breaker

START_S = 10
_PR_SET_PDEATHSIG = 1


class RedisProcess:
    """A redis-server that keeps nothing on disk. Start it with `with`; it is stopped by its process id."""

    def __init__(self, *options: str, folder: Path | None = None) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="cqs-redis-")) if folder is None else folder
        self.path = str(self.folder / "redis.sock")
        self._is_folder_ours = folder is None
        self._options = options
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        """Returns when it answers."""
        command = ["redis-server", "--port", "0", "--unixsocket", self.path, "--save", "", "--appendonly", "no"]
        command += ["--dir", str(self.folder), "--daemonize", "no", *self._options]
        self._process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=_die_with_parent
        )
        deadline = time.monotonic() + START_S
        while not self._answers():
            assert self._process.poll() is None, f"{' '.join(command)} ended with {self._process.returncode}"
            assert time.monotonic() < deadline, f"no answer on {self.path} for {START_S} s"
            self._process.poll()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(0.01)

    def stop(self) -> None:
        """At once; idempotent."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None
        Path(self.path).unlink(missing_ok=True)

    def __enter__(self) -> RedisProcess:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        if self._is_folder_ours:
            shutil.rmtree(self.folder, ignore_errors=True)

    def _answers(self) -> bool:
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(START_S)
            connection.connect(self.path)
            connection.sendall(b"PING\r\n")
            return bool(connection.recv(64))
        return False


def _die_with_parent() -> None:
    """Should the tests be killed, Redis goes with them."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def session() -> Iterator[RedisProcess]:
    """For a fixture of scope session."""
    with RedisProcess() as process:
        yield process


def server_at(
    process: RedisProcess, *, budget_bytes: int = 1 << 30, timeout_s: float = 1.0, gate: Breaker | None = None
) -> RedisServer:
    """The cache's view of it, not yet started."""
    rng = random.Random(1)
    return RedisServer(Address(path=process.path), gate or Breaker(rng), rng, budget_bytes, timeout_s)
