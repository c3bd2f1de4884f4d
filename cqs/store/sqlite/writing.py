"""The writer process: `python -m cqs.store.sqlite.writing SOCKET FILE`, started by `cqs.store.sqlite.writer_process`.

    SOCKET ──► jobs ──► Writer (BEGIN ─ rows ─ COMMIT) ──► results ──► SOCKET

It lives as long as the other end of the socket is open: when the server is gone, it finishes the commit it is in and
ends. Signals are the server's business. The data directory's lock came with it, so no other server can start before
both are gone. Its first reply says that it is ready, or why it can't be.
"""

from __future__ import annotations

import signal
import socket
import sqlite3
import sys
import traceback
from contextlib import suppress
from pathlib import Path

from cqs.store.results import results_of
from cqs.store.sqlite.failures import told
from cqs.store.sqlite.schema import connect
from cqs.store.sqlite.wire import LENGTH, Reply, pack_reply, unpack_jobs
from cqs.store.sqlite.writer import Writer

_BUFFER_BYTES = 1 << 20


def serve(link: socket.socket, file: Path) -> None:
    """Until the other end closes."""
    incoming = link.makefile("rb", _BUFFER_BYTES)
    try:
        writer = Writer(connect(file), file)
    except sqlite3.Error as error:
        link.sendall(pack_reply(Reply(0, False, [told(error, file)])))
        return
    link.sendall(pack_reply(Reply(0, False, None)))
    while len(length := incoming.read(LENGTH.size)) == LENGTH.size:
        (size,) = LENGTH.unpack(length)
        data = incoming.read(size)
        if len(data) < size:
            return
        results = results_of(writer.run, unpack_jobs(data), traceback.print_exc)
        link.sendall(pack_reply(Reply(writer.wal_pages, writer.is_ballast_spent, results)))


def main() -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    with socket.socket(fileno=int(sys.argv[1])) as link, suppress(ConnectionError):
        serve(link, Path(sys.argv[2]))


if __name__ == "__main__":
    main()
