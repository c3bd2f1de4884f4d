"""A parent of workers that accept connections on one socket and answer with their pid. Run by test_worker_parent.py.

python -m tests.integration.worker_parent <count> [fail | poor | reread]      prints the port, then `serving`

fail    a worker does not start
poor    no process can be started in place of the first two that end
reread  workers answer with how often the parent had reread its files when they were started
"""

from __future__ import annotations

import contextlib
import errno
import os
import select
import signal
import socket
import sys
from functools import partial
from types import FrameType

from cqs.banner import Start
from cqs.errors import CannotStart
from cqs.slot import Slot
from cqs.workers import Workers

listening = socket.create_server(("127.0.0.1", 0))
listening.setblocking(False)
IS_REREAD = sys.argv[2:] == ["reread"]
reread: list[bool] = []


class Asked:
    """SIGTERM stops a worker between two connections, never during one. `heard` becomes readable on a signal, because
    one that arrives just before `select` would not interrupt it."""

    def __init__(self) -> None:
        self.is_idle = False
        self.is_over = False
        self.heard, self._written = socket.socketpair()
        self._written.setblocking(False)
        signal.set_wakeup_fd(self._written.fileno())
        signal.signal(signal.SIGTERM, self._hear)

    def _hear(self, number: int, frame: FrameType | None) -> None:
        self.is_over = True
        if self.is_idle:
            sys.exit(0)


class Poor:
    """`os.fork`, which fails twice once all workers were started."""

    def __init__(self, count: int) -> None:
        self._fork = os.fork
        self._calls = 0
        self._failing = {count + 1, count + 2}

    def __call__(self) -> int:
        self._calls += 1
        if self._calls in self._failing:
            raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
        return self._fork()


def serve(slot: Slot) -> int:
    if sys.argv[2:] == ["fail"]:
        raise CannotStart("there is nothing to serve")
    asked = Asked()
    slot.tell(Start("", "", "open", "", "", 0))
    while True:
        asked.is_idle = True
        if asked.is_over:
            return 0
        select.select([listening, asked.heard], [], [])
        asked.is_idle = False
        with contextlib.suppress(BlockingIOError):
            connection, _ = listening.accept()
            with connection:
                connection.sendall(str(len(reread) if IS_REREAD else os.getpid()).encode())


if __name__ == "__main__":
    if sys.argv[2:] == ["poor"]:
        os.fork = Poor(int(sys.argv[1]))
    print(listening.getsockname()[1], flush=True)
    rereads = partial(reread.append, True) if IS_REREAD else None
    workers = Workers(serve, int(sys.argv[1]), 1.0, lambda start: print("serving", flush=True), reread=rereads)
    sys.exit(workers.run())
