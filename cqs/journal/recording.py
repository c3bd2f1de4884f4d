"""The recorder's process: `python -m cqs.journal.recording SOCKET RULES`, started by `cqs.journal.recorder_process`.

    SOCKET ──► frames ──► Recorder (numbers, text, checksums, files) ──► reports ──► SOCKET

It lives as long as the other end of the socket is open. When the server says goodbye, the file gets its closing line;
if the server vanishes, what has arrived is written, and the missing closing line shows that there was more. Its first
report says that the first file has begun, or why it can't.

It runs only when a core is otherwise idle (SCHED_IDLE). With a mere nice value it kept SQLite's writer, which commits
wait for, off its core for up to a millisecond each time: 7 % of the messages a second in batches. When there is no idle
time at all, the server's buffer fills up, and what then does not fit is counted and reported; a server that stops takes
it out of that class, where it may.
"""

from __future__ import annotations

import gc
import os
import random
import select
import socket
import sys
from collections.abc import Iterator
from contextlib import suppress

from cqs.clock import SystemClock
from cqs.frames import framed, take_frames
from cqs.journal.calls import GOODBYE, pack_report
from cqs.journal.recorder import Recorder
from cqs.journal.rules import JournalRules

_TICK_S = 1.0
_READ_BYTES = 1 << 18
_GARBAGE_AFTER = 50_000
"""Tuples and lists: more than those of a frame, which the garbage collector would traverse in vain."""


def serve(link: socket.socket, recorder: Recorder) -> None:
    """Serves until the other end closes or says goodbye."""
    _report(link, recorder, _begin(recorder))
    for frame in _frames(link):
        if frame == GOODBYE:
            recorder.close()
            _report(link, recorder)
            return
        if frame is None:
            recorder.tick()
        else:
            recorder.record(frame)
        _report(link, recorder)
    recorder.abandon()


def _begin(recorder: Recorder) -> str:
    """Opens the recorder. Returns why there is no first file, or ""."""
    try:
        recorder.open()
    except OSError as error:
        return error.strerror or str(error)
    return ""


def _frames(link: socket.socket) -> Iterator[bytes | None]:
    """Frames as they arrive; None when none has arrived for a while."""
    held = bytearray()
    while True:
        if not select.select([link], [], [], _TICK_S)[0]:
            yield None
            continue
        try:
            data = link.recv(_READ_BYTES)
        except ConnectionError:
            return
        if not data:
            return
        held += data
        yield from take_frames(held)


def _report(link: socket.socket, recorder: Recorder, trouble: str = "") -> None:
    """The server may be gone: what it sent is written anyway."""
    report = recorder.report()
    with suppress(ConnectionError):
        link.sendall(framed(pack_report(report._replace(trouble=trouble or report.trouble))))


def main() -> None:
    """Runs the process, in idle time, until its server is gone."""
    with suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    gc.set_threshold(_GARBAGE_AFTER)
    with socket.socket(fileno=int(sys.argv[1])) as link:
        serve(link, Recorder(JournalRules.unpacked(sys.argv[2]), SystemClock(), random.Random()))


if __name__ == "__main__":
    main()
