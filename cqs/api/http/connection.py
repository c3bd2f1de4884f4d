"""aiohttp's connection with deadlines and with bounds on buffered data, both of which aiohttp lacks.

    connect ──► head awaited ──► request served ──► idle ──► head awaited ──► …
                 header_s_max     body: see body.py   idle_s_max
                 then 408, or     the answer: as long as it
                 silence if silent  takes; unread: unread.py

There is no timer per request: a connection only records since when it has been waiting for a head, and one sweep checks
all connections. If an answer could not be written, whoever asked to know is told (`Answer.undelivered`).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError, LineTooLong
from aiohttp.streams import EMPTY_PAYLOAD
from aiohttp.web_protocol import _ErrInfo

from cqs.api.http.bounds import Bounds
from cqs.api.http.connections import Connections
from cqs.api.http.room import PLACE_FREE, Room
from cqs.api.wire_errors import BadRequest, HttpError, RequestHeaderFieldsTooLarge

_TIMED_OUT = b"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
FULL = b"HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Length: 0\r\nRetry-After: 1\r\n\r\n"
_TOO_MANY = "Too many headers"
"""The beginning of the only parser error of aiohttp that has no class of its own."""
_QUOTED_MAX = 200
_log = logging.getLogger("cqs.http")


class Answer(web.Response):
    """A response with a callback for when it could not be delivered."""

    undelivered: Callable[[], Awaitable[None]] | None = None


class Connection(web.RequestHandler):
    """One client's connection."""

    __slots__ = (
        "_behind",
        "_connections",
        "_gone",
        "_has_heard",
        "_header_s_max",
        "_is_busy",
        "_is_over",
        "_refuse",
        "address",
        "is_crowded_out",
        "is_secure",
        "room",
        "waiting_since_s",
    )

    def __init__(
        self,
        server: web.Server,
        connections: Connections,
        refuse: Callable[[HttpError], Answer],
        *,
        loop: asyncio.AbstractEventLoop,
        bounds: Bounds,
        room: Room,
    ) -> None:
        super().__init__(
            server,
            loop=loop,
            keepalive_timeout=bounds.idle_s_max,
            logger=_log,
            access_log=None,  # type: ignore[arg-type]
            max_line_size=bounds.header_bytes_max,
            max_field_size=bounds.header_bytes_max,
            max_headers=bounds.headers_max,
            lingering_time=bounds.linger_s_max,
            auto_decompress=False,
        )
        self._connections = connections
        self._header_s_max = bounds.header_s_max
        self._refuse = refuse
        self.room = room
        self._behind = room.place(self.cut_off)
        self._is_busy = False
        self._has_heard = False
        self._is_over = False
        self._gone: Callable[[], None] | None = None
        self.address = ""
        self.is_secure = False
        self.is_crowded_out = False
        """All received bytes of its request but the head were dropped, because the room was needed."""
        self.waiting_since_s: float | None = None

    def is_client_there(self) -> bool:
        transport = self.transport
        return transport is not None and not transport.is_closing()

    def when_gone(self, call: Callable[[], None] | None) -> None:
        self._gone = call
        if call is not None and self.transport is None:
            call()

    def begin(self) -> None:
        """A head is complete; its request is now being served."""
        self._is_busy = True
        self.waiting_since_s = None
        self._count_behind()

    def sweep(self, now_s: float) -> None:
        if self.waiting_since_s is not None and self.waiting_since_s < now_s - self._header_s_max:
            self.cut()

    def cut(self) -> None:
        """Closes a connection whose head is overdue."""
        if self.transport is not None and self._has_heard:
            self.transport.write(_TIMED_OUT)
        self.force_close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        peer = transport.get_extra_info("peername")
        self.address = peer[0] if isinstance(peer, tuple) else ""
        self.is_secure = transport.get_extra_info("sslcontext") is not None
        if self._connections.admit(self):
            self.waiting_since_s = self._loop.time()
            super().connection_made(transport)
            return
        self.force_close()
        if isinstance(transport, asyncio.WriteTransport):
            transport.write(FULL)
        transport.close()

    def connection_lost(self, exc: BaseException | None) -> None:
        """aiohttp does not get the reason: it would raise it where an answer is being written, and the error and that
        frame would reference each other, and the answer, until a full garbage collection."""
        self._connections.leave(self)
        super().connection_lost(None)
        if self._waiter is None:
            self._messages.clear()
        self._count_behind()
        if self._gone is not None:
            self._gone()

    def data_received(self, data: bytes) -> None:
        if self._is_over:
            return
        self._has_heard = True
        if self.waiting_since_s is None and not self._is_busy:
            self.waiting_since_s = self._loop.time()
        super().data_received(data)
        last = self._messages[-1][0] if self._messages else None
        if isinstance(last, _ErrInfo):
            self._end_with(last)
        self._count_behind()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._connections.unread.enter(self, self._loop.time())

    def resume_writing(self) -> None:
        super().resume_writing()
        self._connections.unread.leave(self)

    def unread(self) -> int:
        return 0 if self.transport is None else self.transport.get_write_buffer_size()

    def cut_off(self) -> None:
        if self.transport is not None:
            self.transport.abort()

    def _end_with(self, problem: _ErrInfo) -> None:
        """Stops reading after input that could not be parsed. Drops everything that the error quotes and its frames,
        which would otherwise form a cycle that lives until a full garbage collection."""
        self._is_over = True
        text = problem.message[:_QUOTED_MAX]
        error = problem.exc.with_traceback(None)
        if isinstance(error, HttpProcessingError):
            error.message = text
        self._messages[-1] = (_ErrInfo(status=problem.status, exc=error, message=text), EMPTY_PAYLOAD)

    def _count_behind(self) -> None:
        """Requests that wait behind the one being served count towards the room; if they are crowded out, the
        connection is aborted."""
        size = 0
        if self._is_busy and self.transport is not None:
            size = sum(body.total_raw_bytes for _, body in self._messages if body is not EMPTY_PAYLOAD)
        if size <= PLACE_FREE:
            self._behind.leave()
        elif not self._behind.grow_to(size):
            self.cut_off()

    async def finish_response(
        self, request: web.BaseRequest, resp: web.StreamResponse, start_time: float | None
    ) -> tuple[web.StreamResponse, bool]:
        undelivered = resp.undelivered if isinstance(resp, Answer) else None
        is_lost = True
        try:
            finished, is_lost = await super().finish_response(request, resp, start_time)
            return finished, is_lost
        finally:
            if undelivered is not None and (is_lost or not self.is_client_there()):
                await asyncio.shield(asyncio.ensure_future(told(undelivered)))
            self._is_busy = self._has_heard = False

    def handle_error(
        self, request: web.BaseRequest, status: int = 500, exc: BaseException | None = None, message: str | None = None
    ) -> web.StreamResponse:
        """Answers input that the parser could not read. Logged at debug level: scanners send plenty of it."""
        if status >= 500:
            _log.error("request_handler_failed", exc_info=exc)
        else:
            _log.debug("bad request from %s: %s", self.address, message)
        is_too_large = isinstance(exc, LineTooLong) or _TOO_MANY in (message or "")
        return self._refuse(RequestHeaderFieldsTooLarge() if is_too_large else BadRequest("Not a valid HTTP request."))


async def told(undelivered: Callable[[], Awaitable[None]]) -> None:
    """Reports that an answer was not delivered; logs a failure of doing so."""
    try:
        await undelivered()
    except Exception as error:
        _log.warning("an undelivered answer could not be taken back: %s", error)
