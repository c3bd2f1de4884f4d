"""A proxy between a client and Redis that fails where the test says.

client ──request──► proxy ──► Redis          cut_before_request: the request never reaches Redis
client ◄──answer─── proxy ◄── Redis          cut_before_answer:  it took effect, but the client gets no answer
                                             hold / release:     the answer is late
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl


class Proxy:
    """Listens on its own Unix socket or, with `tls`, on a port of 127.0.0.1. Use it with `async with`."""

    def __init__(self, target: str, tls: ssl.SSLContext | None = None) -> None:
        self.path = f"{target}.proxy"
        self.port = 0
        self.requests = 0
        """Chunks that came from clients."""
        self._target = target
        self._tls = tls
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._writers: set[asyncio.StreamWriter] = set()
        self._is_cutting_request = self._is_cutting_answer = False
        self._may_answer = asyncio.Event()
        self._may_answer.set()

    async def __aenter__(self) -> Proxy:
        await self.listen()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def listen(self) -> None:
        if self._tls is None:
            self._server = await asyncio.start_unix_server(self._serve, self.path)
        else:
            self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port, ssl=self._tls)
            self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        """Stops listening and aborts all connections. Idempotent."""
        if self._server is not None:
            self._server.close()
            self._server = None
        self.cut()
        self._may_answer.set()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def cut(self) -> None:
        """Aborts all connections."""
        for writer in self._writers:
            writer.transport.abort()

    def cut_before_request(self) -> None:
        """Drops the next request and closes its connection."""
        self._is_cutting_request = True

    def cut_before_answer(self) -> None:
        """Drops the next answer and closes its connection."""
        self._is_cutting_answer = True

    def hold(self) -> None:
        """Holds back all answers until `release`."""
        self._may_answer.clear()

    def release(self) -> None:
        self._may_answer.set()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        with contextlib.suppress(OSError):
            server_reader, server_writer = await asyncio.open_unix_connection(self._target)
            self._writers |= {writer, server_writer}
            try:
                if self._server is None:
                    return
                await asyncio.gather(self._requests(reader, server_writer), self._answers(server_reader, writer))
            finally:
                self._writers -= {writer, server_writer}
                server_writer.transport.abort()
                writer.transport.abort()

    async def _requests(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while chunk := await reader.read(1 << 20):
            self.requests += 1
            if self._is_cutting_request:
                self._is_cutting_request = False
                break
            writer.write(chunk)
        writer.transport.abort()

    async def _answers(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while chunk := await reader.read(1 << 20):
            await self._may_answer.wait()
            if self._is_cutting_answer:
                self._is_cutting_answer = False
                break
            writer.write(chunk)
        writer.transport.abort()
