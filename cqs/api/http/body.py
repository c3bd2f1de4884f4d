"""Reads a body within its bounds: no more bytes than allowed, not from a client that sends too slowly, and only while
there is room for it.

bytes due │                      ______ body_s_max: the end
          │                 ____/
          │            ____/  body_rate_min bytes per second
          │___________/
          └───────────┬─────────────── seconds
                      body_grace_s
"""

from __future__ import annotations

import asyncio

from aiohttp import StreamReader, web

from cqs.api.http.bounds import Bounds
from cqs.api.http.connection import Connection
from cqs.api.http.room import Room
from cqs.api.wire_errors import BadRequest, CrowdedOut, RequestEntityTooLarge, RequestTimeout


class Body:
    """A body being received. It occupies a place in the room until `leave`."""

    __slots__ = ("_bounds", "_content", "_due", "_is_crowded_out", "_place")

    def __init__(self, content: StreamReader, bounds: Bounds, room: Room) -> None:
        self._content = content
        self._bounds = bounds
        self._place = room.place(self._crowd_out)
        self._is_crowded_out = False
        self._due: asyncio.Timeout | None = None

    async def read(self) -> bytes:
        """The whole body; call it once. Raises RequestEntityTooLarge, RequestTimeout, CrowdedOut, and BadRequest when
        the body is cut off or its chunks are malformed. aiohttp raises RuntimeError if the client disconnected before
        reading began."""
        try:
            if self._content.is_eof():
                body = self._content.read_nowait()
                self._check(len(body))
            else:
                body = await self._read_slowly()
        except TimeoutError as error:
            raise (CrowdedOut() if self._is_crowded_out else RequestTimeout()) from error
        except (web.RequestPayloadError, ConnectionError, ValueError, RuntimeError) as error:
            raise BadRequest("The body is incomplete or not well-formed.") from error
        self._place.keep()
        return body

    def leave(self) -> None:
        """Idempotent."""
        self._place.leave()

    async def _read_slowly(self) -> bytes:
        """On failure, the content keeps the error, whose traceback references this frame, in a cycle. The frame
        therefore drops the bytes; otherwise they would stay until a full garbage collection."""
        bounds = self._bounds
        start_s = asyncio.get_running_loop().time()
        body, chunk = bytearray(), b""
        try:
            while True:
                due_s = min(max(bounds.body_grace_s, len(body) / bounds.body_rate_min), bounds.body_s_max)
                async with asyncio.timeout_at(start_s + due_s) as self._due:
                    chunk = await self._content.readany()
                if not chunk:
                    return bytes(body)
                body += chunk
                self._check(len(body))
        finally:
            del body, chunk

    def _check(self, size: int) -> None:
        if size > self._bounds.body_bytes_max:
            raise RequestEntityTooLarge(self._bounds.body_bytes_max)
        if not self._place.grow_to(size):
            raise CrowdedOut

    def _crowd_out(self) -> None:
        """Another request needs the room: moves the deadline to now."""
        self._is_crowded_out = True
        if self._due is not None and not self._due.expired():
            self._due.reschedule(0)


def body_of(request: web.BaseRequest, bounds: Bounds) -> Body:
    """The body of a request to an application mounted beside the API, in the room of its connection; outside of `App`,
    which happens only in tests, in a room of its own."""
    connection = request.protocol
    room = connection.room if isinstance(connection, Connection) else Room(bounds.requests_bytes_max)
    return Body(request.content, bounds, room)
