"""Two servers on one listening socket, like two workers."""

from __future__ import annotations

import asyncio
import socket
from functools import partial

from cqs.api.http.shared_door import SharedDoor


class Named(asyncio.Protocol):
    """Responds with the name of the server that accepted the connection."""

    def __init__(self, name: bytes) -> None:
        self._name = name

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.WriteTransport)
        transport.write(self._name)
        transport.close()


async def who_answers(port: int) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        return await reader.read()
    finally:
        writer.close()


async def test_both_take_their_share_and_one_that_closes_leaves_what_waits_to_the_other() -> None:
    listening = socket.create_server(("127.0.0.1", 0))
    listening.setblocking(False)
    port = listening.getsockname()[1]
    first, second = [SharedDoor(listening.dup(), partial(Named, name)) for name in (b"1", b"2")]
    listening.close()

    names = await asyncio.gather(*(who_answers(port) for _ in range(20)))
    first.close()
    first.close()
    await first.settle()
    rest = await asyncio.gather(*(who_answers(port) for _ in range(10)))
    second.close()

    assert min(names.count(b"1"), names.count(b"2")) >= 5
    assert rest == [b"2"] * 10
