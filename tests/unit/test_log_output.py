"""The log's output: lines reach whoever reads them, and nobody waits for a reader that has stopped."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import socket
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TextIO

import pytest
import structlog

from cqs import log_output, logs

Reader = Callable[[], bytes]
Ends = tuple[TextIO, Reader]
LONG = "x" * 1_000


def drained(number: int) -> bytes:
    os.set_blocking(number, False)
    read = b""
    try:
        while part := os.read(number, 65_536):
            read += part
    except BlockingIOError:
        pass
    return read


@pytest.fixture(params=["pipe", "socket"])
def ends(request: pytest.FixtureRequest) -> Iterator[Ends]:
    """Where the log is written, and what reads all that is there."""
    if request.param == "pipe":
        reading, writing = os.pipe()
        fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, 4_096)
    else:
        reading, writing = (end.detach() for end in socket.socketpair())
    with os.fdopen(writing, "w") as stream:
        yield stream, lambda: drained(reading)
    os.close(reading)


@pytest.fixture(params=["opened anew", "asked first"])
def opening(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A service's user may not open the output of root anew."""

    def refuse(*_arguments: object) -> int:
        raise PermissionError

    if request.param == "asked first":
        monkeypatch.setattr(os, "open", refuse)


@pytest.mark.usefixtures("opening")
def test_a_reader_that_stopped_holds_up_nobody_and_is_told_how_many_lines_are_missing(ends: Ends) -> None:
    stream, read = ends
    output = log_output.of_stream(stream, wait_s=0.0)

    assert [output.write(f"{number} {LONG}") for number in range(1_000)] == [0] * 1_000
    first = read().split()[0::2]
    missing = output.write("again")

    assert [int(number) for number in first] == list(range(len(first)))
    assert len(first) + missing in (1_000, 1_001)  # the last one may have been cut
    assert read().splitlines()[-1] == b"again"


def test_a_terminal_that_shows_nothing_holds_up_nobody() -> None:
    reading, writing = pty.openpty()
    with os.fdopen(writing, "w") as stream:
        output = log_output.of_stream(stream, wait_s=0.0)

        for _ in range(1_000):
            output.write(LONG)

        assert drained(reading).count(b"\n") < 1_000
    os.close(reading)


@pytest.mark.usefixtures("opening")
def test_a_line_that_was_cut_is_followed_by_a_new_line() -> None:
    reading, writing = os.pipe()
    fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, 4_096)
    with os.fdopen(writing, "w") as stream:
        output = log_output.of_stream(stream, wait_s=0.0)

        output.write("x" * 10_000)
        cut = drained(reading)
        missing = output.write("whole")

        assert cut == b"x" * 4_096
        assert missing == 1
        assert drained(reading) == b"\nwhole\n"
    os.close(reading)


def test_the_log_tells_how_many_lines_were_dropped(restored_logging: None) -> None:
    reading, writing = os.pipe()
    with os.fdopen(writing, "w") as stream:
        logs.set_up("info", "json", stream, wait_s=0.0)
        for number in range(200):
            structlog.get_logger().info("request", number=number, text=LONG)
        before = len(drained(reading).splitlines())
        structlog.get_logger().info("stopping")

        stopping, dropped = [json.loads(line) for line in drained(reading).splitlines()]
    os.close(reading)

    assert stopping["event"] == "stopping"
    assert dropped["event"] == "log_lines_dropped"
    assert before + dropped["lines"] == 200


def test_a_reader_that_is_only_slow_gets_every_line() -> None:
    reading, writing = os.pipe()
    fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, 4_096)
    with os.fdopen(writing, "w") as stream, ThreadPoolExecutor(1) as others:
        output = log_output.of_stream(stream, wait_s=60.0)
        read = others.submit(lambda: [os.read(reading, 1_001) for _ in range(500)])

        missing = [output.write(LONG) for _ in range(500)]

        assert missing == [0] * 500
        assert set(read.result()) == {f"{LONG}\n".encode()}
    os.close(reading)
