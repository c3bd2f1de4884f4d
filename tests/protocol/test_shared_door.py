"""Two servers on one listening socket, like two workers, without and with TLS."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Iterator
from functools import partial

import pytest

from cqs.api.http.bounds import DEFAULT_BOUNDS
from cqs.api.http.connections import Connections
from cqs.api.http.shared_door import SharedDoor
from cqs.api.http.tls_door import TlsDoor
from tests.tls import Certificate, certificate


class Named(asyncio.Protocol):
    """Responds with the name of the server that accepted the connection."""

    def __init__(self, name: bytes) -> None:
        self._name = name

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.WriteTransport)
        transport.write(self._name)
        transport.close()


@pytest.fixture
def listening() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as opened:
        opened.setblocking(False)
        yield opened


@pytest.fixture(scope="module")
def tls(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    return certificate(str(tmp_path_factory.mktemp("tls") / "server"))


def plain_door(listening: socket.socket, name: bytes) -> SharedDoor:
    return SharedDoor(listening.dup(), partial(Named, name))


def tls_door(listening: socket.socket, name: bytes, tls: Certificate) -> SharedDoor:
    connections = Connections(DEFAULT_BOUNDS)
    return TlsDoor(listening.dup(), partial(Named, name), tls.server, connections, DEFAULT_BOUNDS, is_shared=True)


async def who_answers(address: tuple[str, int], tls: ssl.SSLContext | None = None) -> bytes:
    reader, writer = await asyncio.open_connection(*address, ssl=tls)
    try:
        return await reader.read()
    finally:
        writer.close()


async def test_both_take_their_share_and_one_that_closes_leaves_what_waits_to_the_other(
    listening: socket.socket,
) -> None:
    first, second = plain_door(listening, b"1"), plain_door(listening, b"2")
    address = listening.getsockname()

    names = await asyncio.gather(*(who_answers(address) for _ in range(20)))
    first.close()
    first.close()
    await first.settle()
    rest = await asyncio.gather(*(who_answers(address) for _ in range(10)))
    second.close()

    assert min(names.count(b"1"), names.count(b"2")) >= 5
    assert rest == [b"2"] * 10


async def test_one_that_took_a_tls_connection_leaves_the_next_to_the_other(
    listening: socket.socket, tls: Certificate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cqs.api.http.tls_door.REST_S", 1_000.0)
    address = listening.getsockname()
    first = tls_door(listening, b"1", tls)
    assert await who_answers(address, tls.client) == b"1"

    second = tls_door(listening, b"2", tls)

    assert await who_answers(address, tls.client) == b"2"
    for door in (first, second):
        door.close()


async def test_handshake_that_has_begun_is_finished_though_its_door_closes(
    listening: socket.socket, tls: Certificate
) -> None:
    door = tls_door(listening, b"1", tls)
    loop = asyncio.get_running_loop()
    reader, writer = await asyncio.open_connection(*listening.getsockname())
    while not door.coming:  # noqa: ASYNC110
        await asyncio.sleep(0)

    door.close()
    settled = loop.create_task(door.settle())
    await writer.start_tls(tls.client, server_hostname="127.0.0.1")
    assert await reader.read() == b"1"
    await settled
    writer.close()


async def test_handshake_that_is_never_finished_is_dropped(
    listening: socket.socket, tls: Certificate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cqs.api.http.shared_door.SETTLE_S_MAX", 0.01)
    door = tls_door(listening, b"1", tls)
    reader, writer = await asyncio.open_connection(*listening.getsockname())
    while not door.coming:  # noqa: ASYNC110
        await asyncio.sleep(0)

    door.close()
    await door.settle()

    assert await reader.read() == b""
    writer.close()
