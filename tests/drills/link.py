"""A proxy between an API node and Redis or Cassandra (or a client and a node) that injects network faults.

node ──► link ──► server      cut          bytes in both directions are held back, as if packets were lost, until `mend`
                              drop_share   the probability that a chunk of bytes, in either direction, is dropped and
                                           its connection closed: the request, or the response, is lost
"""

from __future__ import annotations

import asyncio
import contextlib
import random
from dataclasses import dataclass

_CHUNK = 1 << 16


@dataclass(frozen=True)
class End:
    """A Unix socket, or a TCP host and port."""

    path: str = ""
    host: str = ""
    port: int = 0

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if self.path:
            return await asyncio.open_unix_connection(self.path)
        return await asyncio.open_connection(self.host, self.port)


class Link:
    """Listens at `near` (port 0: any free port) and forwards to `far`."""

    def __init__(self, near: End, far: End, rng: random.Random) -> None:
        self.near = near
        self.drop_share = 0.0
        self.dropped = 0
        self._far = far
        self._rng = rng
        self._server: asyncio.Server | None = None
        self._is_whole = asyncio.Event()
        self._is_whole.set()
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        if self.near.path:
            self._server = await asyncio.start_unix_server(self._serve, self.near.path)
        else:
            self._server = await asyncio.start_server(self._serve, self.near.host, self.near.port)
            self.near = End(host=self.near.host, port=self._server.sockets[0].getsockname()[1])

    async def stop(self) -> None:
        """Idempotent."""
        if self._server is not None:
            self._server.close()
            self._server = None
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def cut(self) -> None:
        """From now on nothing gets through; connections stay open."""
        self._is_whole.clear()

    def mend(self) -> None:
        self._is_whole.set()

    def lead_to(self, far: End) -> None:
        """From now on another server is reached by this address. Closes the connections to the one before."""
        self._far = far
        for task in self._tasks:
            task.cancel()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        far_writer: asyncio.StreamWriter | None = None
        try:
            with contextlib.suppress(OSError, asyncio.CancelledError):
                far_reader, far_writer = await self._far.connect()
                pumps = [
                    asyncio.ensure_future(self._pump(*way)) for way in ((reader, far_writer), (far_reader, writer))
                ]
                try:
                    await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
                finally:
                    for pump in pumps:
                        pump.cancel()
                    await asyncio.gather(*pumps, return_exceptions=True)
        finally:
            for one in (writer, far_writer):
                if one is not None:
                    one.transport.abort()

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while chunk := await reader.read(_CHUNK):
            await self._is_whole.wait()
            if self.drop_share and self._rng.random() < self.drop_share:
                self.dropped += 1
                return
            writer.write(chunk)
            await writer.drain()
