"""A fake Cassandra node in forty lines with just enough of the protocol, plain and over TLS. It answers with as many
bytes as the query asks for, and does not read queries until `is_reading`."""

from __future__ import annotations

import asyncio
import struct

from tests.tls import Certificate

_HEAD = struct.Struct("!BBhBi")
_OPTIONS, _STARTUP, _QUERY = 0x05, 0x01, 0x07
_READY, _AUTHENTICATE, _SUPPORTED, _RESULT = 0x02, 0x03, 0x06, 0x08


def _text(value: str) -> bytes:
    return struct.pack("!H", len(value)) + value.encode()


class FakeNode:
    """Its port is `port`; `queries` are the texts it read. `is_closed_to_strangers`: it asks for a password."""

    def __init__(self, tls: Certificate | None) -> None:
        self.tls = tls
        self.queries: list[str] = []
        self.is_closed_to_strangers = False
        self.is_reading = asyncio.Event()
        self.is_reading.set()
        self.writers: list[asyncio.StreamWriter] = []

    async def start(self) -> None:
        tls = self.tls and self.tls.server
        self.server = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=tls)
        self.port = self.server.sockets[0].getsockname()[1]

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.writers.append(writer)
        try:
            while True:
                head = await reader.readexactly(_HEAD.size)
                _, _, stream, kind, length = _HEAD.unpack(head)
                if kind == _QUERY:
                    await self.is_reading.wait()
                body = await reader.readexactly(length)
                answer, content = self._answer(kind, body)
                writer.write(_HEAD.pack(0x84, 0, stream, answer, len(content)) + content)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    def _answer(self, kind: int, body: bytes) -> tuple[int, bytes]:
        if kind == _OPTIONS:
            return _SUPPORTED, b"\0\2" + _text("CQL_VERSION") + b"\0\1" + _text("3.4.7") + _text(
                "COMPRESSION"
            ) + b"\0\0"
        if kind == _STARTUP:
            return (_AUTHENTICATE, _text("PasswordAuthenticator")) if self.is_closed_to_strangers else (_READY, b"")
        assert kind == _QUERY
        text = body[4 : 4 + struct.unpack_from("!i", body)[0]].decode()
        self.queries.append(text)
        return _RESULT, b"\0\0\0\3" + _text("x" * int(text.split()[0]))

    async def stop(self) -> None:
        self.server.close()
        for writer in self.writers:
            writer.close()
