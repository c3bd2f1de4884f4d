"""The API's HTTP server, built on aiohttp: accepts connections and ends them.

    socket ─► door ─► Lane: plain requests ─────────────────────► dispatch
                      └► Connection (deadlines, caps): all others ─► Router

aiohttp only parses HTTP: its limits and decompression are off or replaced.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import socket
import ssl
from collections.abc import Callable, Mapping, Sequence

from aiohttp import web
from aiohttp.http_parser import HttpRequestParser, HttpRequestParserPy

from cqs.api.dispatch import Dispatcher
from cqs.api.http.bounds import DEFAULT_BOUNDS, Bounds
from cqs.api.http.connection import Connection
from cqs.api.http.connections import Connections
from cqs.api.http.room import Room
from cqs.api.http.shared_door import SharedDoor
from cqs.api.http.tls_door import TlsDoor
from cqs.api.lane import Lane
from cqs.api.lanes import Lanes
from cqs.api.router import Router
from cqs.errors import CannotStart


class App:
    """Serves the API on sockets that are already bound."""

    def __init__(
        self,
        dispatcher: Dispatcher,
        *,
        why_not_ready: Callable[[], str] = str,
        troubles: Callable[[], Sequence[str]] = tuple,
        bounds: Bounds = DEFAULT_BOUNDS,
        mounts: Mapping[str, web.Application] | None = None,
        facts: Mapping[str, str] | None = None,
        front: str = "",
        is_fast: bool = True,
    ) -> None:
        """`why_not_ready` returns what is missing, "" when calls will be served; `troubles` what they are served
        without. `mounts`: applications by path prefix; they serve everything below it. `facts` appear in /health.
        `front`: where a browser at / is redirected, relative to it. `is_fast`: plain requests use the fast lane."""
        if HttpRequestParser is HttpRequestParserPy:
            raise CannotStart("aiohttp runs without its C parser, which is not safe: install one of its wheels")
        self._dispatcher = dispatcher
        self._bounds = bounds
        self._runner: web.ServerRunner | None = None
        self._sweeping: asyncio.Task[None] | None = None
        self._is_fast = is_fast
        self._lanes: Lanes | None = None
        self._listening: list[asyncio.Server | SharedDoor] = []
        self._stop_s_max = 0.0
        self.connections = Connections(bounds)
        self.room = Room(bounds.requests_bytes_max)
        self._router = Router(
            dispatcher,
            bounds,
            self.room,
            why_not_ready=why_not_ready,
            troubles=troubles,
            mounts=mounts or {},
            facts=facts or {},
            front=front,
        )

    async def start(
        self,
        sockets: Sequence[socket.socket],
        *,
        stop_s_max: float = 10.0,
        tls: ssl.SSLContext | None = None,
        is_shared: bool = False,
    ) -> None:
        """Starts accepting connections; with `tls`, only over TLS. `is_shared`: other processes accept from the same
        sockets. `stop_s_max`: how long `stop` waits for accepted requests."""
        self._stop_s_max = stop_s_max
        await self._router.start()
        self._runner = web.ServerRunner(_Server(self, self._router), shutdown_timeout=stop_s_max)
        await self._runner.setup()
        server = self._runner.server
        assert server is not None
        self._lanes = Lanes(
            self._dispatcher, self.connections, self._bounds, self.room, functools.partial(self.connection, server)
        )
        loop = asyncio.get_running_loop()
        factory: Callable[[], asyncio.BaseProtocol] = functools.partial(Lane, self._lanes) if self._is_fast else server
        for listening in sockets:
            if tls is not None:
                door = TlsDoor(listening, factory, tls, self.connections, self._bounds, is_shared=is_shared)
                self._listening.append(door)
            elif is_shared:
                self._listening.append(SharedDoor(listening, factory))
            else:
                self._listening.append(await loop.create_server(factory, sock=listening, backlog=1_024))
        self._sweeping = asyncio.create_task(self.connections.run(), name="connections")

    async def stop(self) -> None:
        """Stops accepting, answers what was accepted, closes; aborts connections still unread by then. Idempotent."""
        cutting = asyncio.get_running_loop().call_later(self._stop_s_max, self.connections.unread.cut_off)
        if self._sweeping is not None:
            self._sweeping.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._sweeping
            self._sweeping = None
        for listening in self._listening:
            listening.close()
        await asyncio.gather(*(door.settle() for door in self._listening if isinstance(door, SharedDoor)))
        self._listening.clear()
        if self._lanes is not None:
            await self._lanes.stop(self._stop_s_max)
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None
        await self._router.stop()
        cutting.cancel()

    def connection(self, server: web.Server) -> Connection:
        """A protocol for one new connection."""
        loop = asyncio.get_running_loop()
        return Connection(
            server, self.connections, self._router.refuse_unread, loop=loop, bounds=self._bounds, room=self.room
        )


class _Server(web.Server):
    """aiohttp's server, creating our `Connection`s."""

    def __init__(self, app: App, router: Router) -> None:
        super().__init__(router.handle, request_factory=router.make_request)
        self._app = app

    def __call__(self) -> web.RequestHandler:
        return self._app.connection(self)
