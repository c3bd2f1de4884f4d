"""A private Redis server: a child process on a unix socket in its own folder, without persistence.

It ends with this process, even if that is killed (on Linux the kernel signals it). It holds only a cache, so nothing is
lost with it. If it dies by itself (out of memory, say), `look_after` starts another one. Otherwise its queues would be
served from the store for ever, and FIFO queues not at all.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import shutil
import signal
import subprocess
import time
from pathlib import Path
from urllib.parse import quote

import structlog

from cqs.errors import CannotStart
from cqs.scratch import Scratch

PROGRAMS = ("redis-server", "valkey-server")
START_S_MAX = 10.0
STOP_S_MAX = 5.0
RESTART_S = 1.0
_PR_SET_PDEATHSIG = 1
_log = structlog.get_logger("cqs.spawn")


class PrivateRedis:
    """Runs from construction until `stop`. `url` is where it listens."""

    def __init__(self) -> None:
        """Raises CannotStart if the program is not installed or does not start."""
        program = program_of()
        if not program:
            raise CannotStart(
                "--redis spawn needs redis-server or valkey-server on the PATH: apt-get install redis-server"
            )
        self._scratch = Scratch("cqs-spawn-")
        socket = self._scratch.path / "redis.sock"
        self.url = f"unix://{quote(str(socket))}"
        self._command = (
            program, "--port", "0", "--unixsocket", str(socket), "--unixsocketperm", "700", "--save", "",
            "--appendonly", "no", "--maxmemory-policy", "noeviction", "--dir", str(self._scratch.path),
        )  # fmt: skip
        self._is_stopped = False
        self._watch: asyncio.Task[None] | None = None
        try:
            self._process = self._started()
        except (OSError, subprocess.SubprocessError) as error:
            self._scratch.remove()
            raise CannotStart(f"{program} can't be started: {error}") from error
        if not self._has_come_up(socket):
            self.stop()
            raise CannotStart(f"{program} did not start; try it by hand: {program} --port 0 --unixsocket {socket}")

    @property
    def pid(self) -> int:
        return self._process.pid

    def look_after(self) -> None:
        """Restarts the server if it has exited, at the earliest RESTART_S after its last start, without waiting until
        it listens. A failed restart, for want of memory, say, is retried. Call it repeatedly, in the thread that
        created this."""
        code = self._process.poll()
        if code is None or self._is_stopped or time.monotonic() - self._began_s < RESTART_S:
            return
        try:
            self._process = self._started()
        except (OSError, subprocess.SubprocessError) as error:
            _log.error("private_redis_not_started", reason=str(error))
        else:
            _log.error("private_redis_ended", code=code, now="another one was started, empty")

    def watched(self) -> PrivateRedis:
        """Returns itself, with a task in the running event loop that looks after it until it is stopped."""
        self._watch = asyncio.create_task(self._look_after())
        return self

    async def _look_after(self) -> None:
        while True:
            await asyncio.sleep(RESTART_S)
            self.look_after()

    def stop(self) -> None:
        """Idempotent."""
        self._is_stopped = True
        if self._watch is not None:
            self._watch.cancel()
        if self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(STOP_S_MAX)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        self._scratch.remove()

    def _started(self) -> subprocess.Popen[bytes]:
        self._began_s = time.monotonic()
        return subprocess.Popen(
            self._command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, preexec_fn=_die_with_parent
        )

    def _has_come_up(self, socket: Path) -> bool:
        end_s = time.monotonic() + START_S_MAX
        while not socket.exists() and self._process.poll() is None and time.monotonic() < end_s:
            time.sleep(0.01)
        return socket.exists()


def program_of() -> str:
    """The path of the program, "" if it is not installed."""
    return next((found for name in PROGRAMS if (found := shutil.which(name))), "")


def _die_with_parent() -> None:
    """Runs in the child: makes it exit when the parent does, even if the parent had blocked the signal, but not on the
    parent's Ctrl-C."""
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
