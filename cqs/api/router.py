"""Sends each request to what answers it.

    head rules ─┬► body within bounds ─► dispatch ─► answer
                └► /health /ready, mounted paths: other applications

aiohttp's error pages and cancellation of handlers are off or replaced. No handler is cancelled because its client
disconnected: sends run to completion; receives stop waiting and take no messages, and messages whose response could not
be written go back to the queue.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence

import msgspec
from aiohttp import StreamReader, hdrs, web
from aiohttp.abc import AbstractStreamWriter
from aiohttp.http_parser import RawRequestMessage
from multidict import CIMultiDict

from cqs.api.dispatch import Dispatcher
from cqs.api.http.body import Body
from cqs.api.http.bounds import Bounds
from cqs.api.http.connection import Answer, Connection
from cqs.api.http.plain_reply import SERVER
from cqs.api.http.room import Room
from cqs.api.http.rules import METHODS, refusal
from cqs.api.request import Reply, Request
from cqs.api.wire_errors import BadRequest, CrowdedOut, HttpError

HEALTH_PATHS = frozenset({"/health", "/healthz"})
READY_PATHS = frozenset({"/ready", "/readyz"})
_OPERATORS_PATHS = HEALTH_PATHS | READY_PATHS
_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
_HTTP_10 = (1, 0)
_HTTP_11 = (1, 1)


class Router:
    """Belongs to one event loop."""

    def __init__(
        self,
        dispatcher: Dispatcher,
        bounds: Bounds,
        room: Room,
        *,
        why_not_ready: Callable[[], str],
        troubles: Callable[[], Sequence[str]],
        mounts: Mapping[str, web.Application],
        facts: Mapping[str, str],
        front: str,
    ) -> None:
        """As for `App`."""
        self._dispatcher = dispatcher
        self._bounds = bounds
        self._room = room
        self._why_not_ready = why_not_ready
        self._troubles = troubles
        self._mounts = {prefix: web.AppRunner(application) for prefix, application in mounts.items()}
        self._facts = dict(facts)
        self._front = front

    async def start(self) -> None:
        """Starts the mounted applications."""
        for mount in self._mounts.values():
            await mount.setup()

    async def stop(self) -> None:
        """Stops them. Idempotent."""
        for mount in self._mounts.values():
            await mount.cleanup()

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
            return self.refuse_unread(BadRequest("Only HTTP/1.1 and HTTP/1.0 are spoken here."))
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
        body = Body(request.content, self._bounds, self._room)
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

    def refuse_unread(self, error: HttpError) -> Answer:
        """The answer to what was not understood as a request."""
        return self._refuse(error, Request(b"GET", b"/", []))

    def _mount_of(self, path: str) -> web.AppRunner | None:
        for prefix, mount in self._mounts.items():
            if path.startswith(prefix) and path[len(prefix) : len(prefix) + 1] in ("", "/", "?"):
                return mount
        return None


def _request_of(request: web.BaseRequest) -> Request:
    """The request, before its body is read."""
    connection = request.protocol
    assert isinstance(connection, Connection)
    return Request(
        request.method.encode(),
        request.raw_path.encode("utf-8", "surrogateescape"),
        list(request.raw_headers),
        b"",
        connection.address,
        connection,
        is_secure=connection.is_secure,
    )


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
