"""The writer process: `python -m cqs.store.sqlite.writing SOCKET FILE`, started by `cqs.store.sqlite.writer_process`.

    SOCKET ──► jobs ──► Writer (BEGIN ─ rows ─ COMMIT) ──► results ──► SOCKET

It lives as long as the other end of the socket is open: when the server is gone, it finishes its current commit and
ends. The server handles signals. It inherited the data directory's lock, so no other server can start before both are
gone. Its first reply says that it is ready, or why it can't start.
"""

from __future__ import annotations

import socket
import sqlite3
import sys
import traceback
from contextlib import suppress
from pathlib import Path

from cqs.errors import StoreUnavailable
from cqs.frames import framed, take_frames
from cqs.store.results import results_of
from cqs.store.sqlite.failures import check_writable, told
from cqs.store.sqlite.schema import connect
from cqs.store.sqlite.wire import Reply, pack_reply, unpack_jobs
from cqs.store.sqlite.writer import Writer

_READ_BYTES = 1 << 18


def serve(link: socket.socket, file: Path) -> None:
    """Serves until the other end closes."""
    try:
        check_writable(file)
        writer = Writer(connect(file), file)
    except (StoreUnavailable, sqlite3.Error) as error:
        _answer(link, Reply(0, False, "", [told(error, file) if isinstance(error, sqlite3.Error) else error]))
        return
    _answer(link, Reply(0, False, "", None))
    held = bytearray()
    while incoming := link.recv(_READ_BYTES):
        held += incoming
        for data in take_frames(held):
            results = results_of(writer.run, unpack_jobs(data), traceback.print_exc)
            _answer(link, Reply(writer.wal_pages, writer.is_ballast_spent, writer.failing, results))


def _answer(link: socket.socket, reply: Reply) -> None:
    link.sendall(framed(pack_reply(reply)))


def main() -> None:
    with socket.socket(fileno=int(sys.argv[1])) as link, suppress(ConnectionError):
        serve(link, Path(sys.argv[2]))


if __name__ == "__main__":
    main()
