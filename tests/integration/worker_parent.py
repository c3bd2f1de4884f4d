"""A parent of workers that accept on one socket and answer with their pid: run by test_worker_parent.py.

python -m tests.integration.worker_parent <count> [fail]      prints the port, then `serving`
"""

from __future__ import annotations

import os
import signal
import socket
import sys
from types import FrameType

from cqs.banner import Start
from cqs.errors import CannotStart
from cqs.slot import Slot
from cqs.workers import Workers

listening = socket.create_server(("127.0.0.1", 0))


def stop(number: int, frame: FrameType | None) -> None:
    sys.exit(0)


def serve(slot: Slot) -> int:
    if sys.argv[2:] == ["fail"]:
        raise CannotStart("there is nothing to serve")
    signal.signal(signal.SIGTERM, stop)
    slot.tell(Start("", "", "open", "", "", 0))
    while True:
        connection, _ = listening.accept()
        with connection:
            connection.sendall(str(os.getpid()).encode())


if __name__ == "__main__":
    print(listening.getsockname()[1], flush=True)
    workers = Workers(serve, int(sys.argv[1]), 1.0, lambda start: print("serving", flush=True))
    sys.exit(workers.run())
