"""A child process of the server, for work that must not hold the interpreter lock of the event loop.

    event loop  ── frames ──►  python -m MODULE SOCKET ARGUMENT …
                ◄─ frames ──

It lives as long as this end of the socket is open. When the server is gone, for whatever reason, the child reads EOF,
finishes its work and exits. The server handles signals to the process group; the child starts and stays with them
blocked.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import cqs
from cqs.frames import framed, take_frames

_READ_BYTES = 1 << 18
_SEND_BUFFER_BYTES = 4 << 20


class Child:
    """One such process, from start to exit. Belongs to the running event loop."""

    def __init__(
        self,
        module: str,
        arguments: Sequence[str],
        *,
        heard: Callable[[bytes], None],
        ended: Callable[[int], None],
        drained: Callable[[], None] = lambda: None,
        pass_fds: Sequence[int] = (),
    ) -> None:
        """Starts it. `heard` is called with the data of each received frame; `ended` once with the exit code, unless it
        was closed; `drained` when a frame that had to wait has been written completely. Raises OSError."""
        self._heard = heard
        self._ended = ended
        self._drained = drained
        self._in = bytearray()
        self._out: deque[memoryview] = deque()
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BUFFER_BYTES)
        paths = [str(Path(cqs.__file__).parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])]
        held = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM, signal.SIGHUP))
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", module, str(theirs.fileno()), *arguments],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=(theirs.fileno(), *pass_fds),
                env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)},
            )
        except OSError:
            ours.close()
            raise
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, held)
            theirs.close()
        self._link = ours
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(ours.fileno(), self._receive)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def is_behind(self) -> bool:
        """Whether some sent data still waits for room in the socket."""
        return bool(self._out)

    def send(self, data: bytes) -> None:
        """Sends the data as one frame. What the socket does not take at once is written later, without another copy:
        once a part of a frame is on its way, the rest can't fail for lack of memory, and the next frame can't be taken
        for it. Data sent to a dead child is lost."""
        frame = memoryview(framed(data))
        if self._out:
            self._out.append(frame)
            return
        try:
            sent = self._link.send(frame)
        except BlockingIOError:
            sent = 0
        except OSError:
            return  # it died; the reader sees the end of the stream
        if sent < len(frame):
            self._out.append(frame[sent:])
            self._loop.add_writer(self._link.fileno(), self._send_more)

    async def close(self, wait_s_max: float) -> None:
        """Closes the socket and waits for the child to exit; kills it after `wait_s_max`. Raises
        subprocess.TimeoutExpired if even that fails."""
        self._let_go()
        try:
            await asyncio.to_thread(self._process.wait, wait_s_max)
        except subprocess.TimeoutExpired:
            self._process.kill()
            await asyncio.to_thread(self._process.wait, wait_s_max)

    def hurry(self) -> None:
        """Takes it out of SCHED_IDLE, in which it hardly runs on a busy machine. Only root may: else it stays there."""
        with suppress(OSError):
            os.sched_setscheduler(self.pid, os.SCHED_OTHER, os.sched_param(0))

    def kill(self) -> None:
        """Kills it; `ended` is called soon after."""
        self._process.kill()

    def _send_more(self) -> None:
        try:
            left = self._out[0][self._link.send(self._out[0]) :]
            if left:
                self._out[0] = left
            else:
                self._out.popleft()
        except BlockingIOError:
            return
        except OSError:
            self._out.clear()
        if not self._out:
            self._loop.remove_writer(self._link.fileno())
            self._drained()

    def _receive(self) -> None:
        try:
            data = self._link.recv(_READ_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._let_go()
            self._process.kill()
            self._ended(self._process.wait())
            return
        self._in += data
        for frame in take_frames(self._in):
            self._heard(frame)

    def _let_go(self) -> None:
        self._loop.remove_reader(self._link.fileno())
        self._loop.remove_writer(self._link.fileno())
        self._link.close()
        self._in.clear()
        self._out.clear()
