"""A private Redis server: a child process on a unix socket in a folder of its own, without persistence.

It ends with this process, also when that is killed (Linux: the kernel tells it). What it holds is a cache; nothing is
lost with it.
"""

from __future__ import annotations

import contextlib
import ctypes
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

from cqs.errors import CannotStart

PROGRAMS = ("redis-server", "valkey-server")
START_S_MAX = 10.0
STOP_S_MAX = 5.0
_PR_SET_PDEATHSIG = 1


class PrivateRedis:
    """Runs from construction to `stop`. `url` is where it listens."""

    def __init__(self) -> None:
        """Raises CannotStart when there is no such program, or it does not come up."""
        program = program_of()
        if not program:
            raise CannotStart(
                "--redis spawn needs redis-server or valkey-server on the PATH: apt-get install redis-server"
            )
        self._folder = Path(tempfile.mkdtemp(prefix="cqs-redis-"))
        socket = self._folder / "redis.sock"
        self.url = f"unix://{socket}"
        self._process = subprocess.Popen(
            [program, "--port", "0", "--unixsocket", str(socket), "--unixsocketperm", "700", "--save", "",
             "--appendonly", "no", "--maxmemory-policy", "noeviction", "--dir", str(self._folder)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            preexec_fn=_die_with_parent,
        )  # fmt: skip
        if not self._has_come_up(socket):
            self.stop()
            raise CannotStart(f"{program} did not start; try it by hand: {program} --port 0 --unixsocket {socket}")

    @property
    def pid(self) -> int:
        return self._process.pid

    def stop(self) -> None:
        """Idempotent."""
        if self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(STOP_S_MAX)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _has_come_up(self, socket: Path) -> bool:
        end_s = time.monotonic() + START_S_MAX
        while not socket.exists() and self._process.poll() is None and time.monotonic() < end_s:
            time.sleep(0.01)
        return socket.exists()


def program_of() -> str:
    """The path of the program, "" when it is not installed."""
    return next((found for name in PROGRAMS if (found := shutil.which(name))), "")


def _die_with_parent() -> None:
    """In the child: end when the parent does, and not at its Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
