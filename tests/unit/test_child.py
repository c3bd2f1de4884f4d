"""What is sent to a child process arrives whole and in order, however little its socket takes at once."""

from __future__ import annotations

import asyncio
import os
import socket
import tracemalloc
from collections.abc import Iterator
from typing import Any

import pytest

from cqs.child import Child
from cqs.frames import take_frames

BIG = 32 << 20
"""More than a socket takes at once."""


class Hearing:
    """A child without a process: the test reads the other end of its socket."""

    def __init__(self) -> None:
        self.link: socket.socket
        self.pid = 0

    def start(self, arguments: list[str], **_: Any) -> Hearing:
        self.link = socket.socket(fileno=os.dup(int(arguments[4])))
        return self

    def wait(self, _: float | None = None) -> int:
        return 0

    def kill(self) -> None:
        pass


@pytest.fixture
def hearing(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hearing]:
    it = Hearing()
    monkeypatch.setattr("cqs.child.subprocess.Popen", it.start)
    yield it
    it.link.close()


async def _read_all(child: Child, hearing: Hearing) -> list[bytes]:
    hearing.link.setblocking(False)
    loop, held, taken = asyncio.get_running_loop(), bytearray(), list[bytes]()
    while child.is_behind:
        held += await loop.sock_recv(hearing.link, 1 << 20)
    await child.close(1)
    while piece := await loop.sock_recv(hearing.link, 1 << 20):
        held += piece
    taken += take_frames(held)
    assert not held
    return taken


async def test_frames_behind_one_that_waits_arrive_whole_and_in_order(hearing: Hearing) -> None:
    drained: list[bool] = []
    child = Child("any", [], heard=print, ended=print, drained=lambda: drained.append(True))
    sent = [b"a" * BIG, b"", b"b" * 100, b"c" * BIG]

    for data in sent:
        child.send(data)

    assert child.is_behind
    assert [len(frame) for frame in await _read_all(child, hearing)] == [len(data) for data in sent]
    assert drained == [True]


async def test_the_rest_of_a_frame_needs_no_memory_to_wait(hearing: Hearing) -> None:
    """Without the memory for it, the next frame was taken for the rest of this one: the store hung for ever."""
    child = Child("any", [], heard=print, ended=print)
    data = b"a" * BIG
    tracemalloc.start()

    child.send(data)

    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert child.is_behind and peak < 1.5 * BIG
    await child.close(1)
