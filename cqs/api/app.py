"""The API's HTTP server, built on aiohttp around `dispatch`.

    socket ─► Connection (deadlines, caps) ─► head rules ─┬► body within bounds ─► dispatch ─► answer
                                                          └► /health /ready, mounted paths: other applications

aiohttp only parses HTTP: its limits, decompression, error pages and cancellation of handlers are off or replaced. No
handler is cancelled because its client disconnected: sends run to completion; receives call `is_client_there` before
they take messages, and messages whose response could not be written go back to the queue.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import socket
import ssl
from collections.abc import Callable, Mapping, Sequence

import msgspec
from aiohttp import StreamReader, hdrs, web
from aiohttp.abc import AbstractStreamWriter
from aiohttp.http_parser import HttpRequestParser, HttpRequestParserPy, RawRequestMessage
from multidict import CIMultiDict

from cqs.api.dispatch import Dispatcher
from cqs.api.http.body import Body
from cqs.api.http.bounds import DEFAULT_BOUNDS, Bounds
from cqs.api.http.connection import Answer, Connection
from cqs.api.http.connections import Connections
from cqs.api.http.plain_reply import SERVER
from cqs.api.http.room import Room
from cqs.api.http.rules import METHODS, refusal
from cqs.api.http.shared_door import SharedDoor
from cqs.api.http.tls_door import TlsDoor
from cqs.api.lane import Lane
from cqs.api.lanes import Lanes
from cqs.api.request import Reply, Request
from cqs.api.wire_errors import BadRequest, CrowdedOut, HttpError
from cqs.errors import CannotStart

HEALTH_PATHS = frozenset({"/health", "/healthz"})
READY_PATHS = frozenset({"/ready", "/readyz"})
_OPERATORS_PATHS = HEALTH_PATHS | READY_PATHS
_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
_HTTP_10, _HTTP_11 = (1, 0), (1, 1)


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
        self._why_not_ready = why_not_ready
        self._troubles = troubles
        self._bounds = bounds
        self._mounts = {prefix: web.AppRunner(application) for prefix, application in (mounts or {}).items()}
        self._runner: web.ServerRunner | None = None
        self._sweeping: asyncio.Task[None] | None = None
        self._facts = dict(facts or {})
        self._front = front
        self._is_fast = is_fast
        self._lanes: Lanes | None = None
        self._listening: list[asyncio.Server | TlsDoor | SharedDoor] = []
        self._stop_s_max = 0.0
        self.connections = Connections(bounds)
        self.room = Room(bounds.requests_bytes_max)

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
        for mount in self._mounts.values():
            await mount.setup()
        self._runner = web.ServerRunner(_Server(self), shutdown_timeout=stop_s_max)
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
                self._listening.append(TlsDoor(listening, factory, tls, self.connections, self._bounds))
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
            if isinstance(listening, SharedDoor):
                await listening.settle()
        self._listening.clear()
        if self._lanes is not None:
            await self._lanes.stop(self._stop_s_max)
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None
        for mount in self._mounts.values():
            await mount.cleanup()
        cutting.cancel()

    def connection(self, server: web.Server) -> Connection:
        """A protocol for one new connection."""
        loop = asyncio.get_running_loop()
        return Connection(server, self.connections, self._refuse_unread, loop=loop, bounds=self._bounds, room=self.room)

    def make_request(
        self,
        message: RawRequestMessage,
        payload: StreamReader,
        protocol: web.RequestHandler,
        writer: AbstractStreamWriter,
        task: asyncio.Task[None],
    ) -> web.BaseRequest:
        """The request object that the application serving it expects."""
        if isinstance(protocol, Connection):
            protocol.begin()
        mount = self._mount_of(message.path)
        if mount is not None and mount.server is not None:
            return mount.server.request_factory(message, payload, protocol, writer, task)
        return web.BaseRequest(message, payload, protocol, writer, task, asyncio.get_running_loop())

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answers any request."""
        if request.version < _HTTP_10:
            return self._refuse_unread(BadRequest("Only HTTP/1.1 and HTTP/1.0 are spoken here."))
        if isinstance(request.protocol, Connection) and request.protocol.is_crowded_out:
            return self._refuse(CrowdedOut(), _request_of(request))
        mount = self._mount_of(request.raw_path) if self._mounts else None
        methods = METHODS if mount is None and request.raw_path not in _OPERATORS_PATHS else None
        raw = _request_of(request)
        problem = refusal(raw.method, raw.target, request.version >= _HTTP_11, raw.headers, self._bounds, methods)
        if problem is not None:
            return self._refuse(problem, raw)
        if mount is not None and mount.server is not None:
            try:
                return await mount.server.request_handler(request)
            except web.HTTPException as error:
                error.headers.setdefault(hdrs.SERVER, SERVER)
                raise
        if request.raw_path in HEALTH_PATHS:
            return _operator_answer("", self._facts)
        if request.raw_path in READY_PATHS:
            return _operator_answer(self._why_not_ready(), self._facts, self._troubles())
        if self._front and request.method == "GET" and request.raw_path == "/" and _is_for_people(request):
            return web.Response(status=302, headers={hdrs.LOCATION: self._front, hdrs.SERVER: SERVER})
        return await self._serve(request, raw)

    async def _serve(self, request: web.BaseRequest, raw: Request) -> Answer:
        if request.headers.get(hdrs.EXPECT, "").lower() == "100-continue" and request.transport is not None:
            request.transport.write(_CONTINUE)
        body = Body(request.content, self._bounds, self.room)
        try:
            raw = msgspec.structs.replace(raw, body=await body.read())
            return _answer_of(await self._dispatcher.dispatch(raw))
        except HttpError as refused:
            return self._refuse(refused, raw)
        finally:
            body.leave()

    def _refuse(self, error: HttpError, request: Request) -> Answer:
        """Closes the connection: it is unknown where the next request would begin."""
        answer = _answer_of(self._dispatcher.refuse(error, request))
        answer.force_close()
        return answer

    def _refuse_unread(self, error: HttpError) -> Answer:
        return self._refuse(error, Request(b"GET", b"/", []))

    def _mount_of(self, path: str) -> web.AppRunner | None:
        for prefix, mount in self._mounts.items():
            if path.startswith(prefix) and path[len(prefix) : len(prefix) + 1] in ("", "/", "?"):
                return mount
        return None


class _Server(web.Server):
    """aiohttp's server, creating our `Connection`s."""

    def __init__(self, app: App) -> None:
        super().__init__(app.handle, request_factory=app.make_request)
        self._app = app

    def __call__(self) -> web.RequestHandler:
        return self._app.connection(self)


def _request_of(request: web.BaseRequest) -> Request:
    """The request, before its body is read."""
    connection = request.protocol
    assert isinstance(connection, Connection)
    method, headers = request.method.encode(), list(request.raw_headers)
    target, there = request.raw_path.encode("utf-8", "surrogateescape"), connection.is_client_there
    return Request(method, target, headers, b"", connection.address, there, is_secure=connection.is_secure)


def _answer_of(reply: Reply) -> Answer:
    headers = CIMultiDict((name.decode("latin-1"), value.decode("latin-1")) for name, value in reply.headers)
    headers[hdrs.SERVER] = SERVER
    answer = Answer(body=reply.body, status=reply.status, headers=headers)
    answer.undelivered = reply.undelivered
    return answer


def _is_for_people(request: web.BaseRequest) -> bool:
    """Whether a browser sent it, rather than an SDK that calls an action by GET."""
    return "text/html" in request.headers.get(hdrs.ACCEPT, "")


def _operator_answer(problem: str, facts: dict[str, str], troubles: Sequence[str] = ()) -> web.Response:
    state: dict[str, object] = {"status": "unavailable", "reason": problem} if problem else {"status": "ok"}
    if troubles and not problem:
        state = {"status": "degraded", "troubles": list(troubles)}
    return web.json_response(state | facts, status=503 if problem else 200, headers={hdrs.SERVER: SERVER})
