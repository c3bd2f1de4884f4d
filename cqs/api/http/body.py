"""Reading a body within its bounds: never more bytes than allowed, and not from a client that only drips.

bytes due │                      ______ body_s_max: the end
          │                 ____/
          │            ____/  body_rate_min a second
          │___________/
          └───────────┬─────────────── seconds
                      body_grace_s
"""

from __future__ import annotations

import asyncio

from aiohttp import StreamReader, web

from cqs.api.http.bounds import Bounds
from cqs.api.wire_errors import BadRequest, RequestEntityTooLarge, RequestTimeout


async def read_body(content: StreamReader, bounds: Bounds) -> bytes:
    """The whole body. Raises RequestEntityTooLarge, RequestTimeout, BadRequest (cut off, or bad chunks)."""
    try:
        if content.is_eof():
            body = content.read_nowait()
            _check_size(len(body), bounds)
            return body
        return await _read_slowly(content, bounds)
    except TimeoutError as error:
        raise RequestTimeout from error
    except (web.RequestPayloadError, ConnectionError, ValueError) as error:
        raise BadRequest("The body is incomplete or not well-formed.") from error


async def _read_slowly(content: StreamReader, bounds: Bounds) -> bytes:
    """When it raises, the error stays with `content` and holds this frame, in a circle: so the frame lets go of the
    bytes, or they would wait for a full garbage collection."""
    start_s = asyncio.get_running_loop().time()
    body, chunk = bytearray(), b""
    try:
        while True:
            due_s = min(max(bounds.body_grace_s, len(body) / bounds.body_rate_min), bounds.body_s_max)
            async with asyncio.timeout_at(start_s + due_s):
                chunk = await content.readany()
            if not chunk:
                return bytes(body)
            body += chunk
            _check_size(len(body), bounds)
    finally:
        del body, chunk


def _check_size(size: int, bounds: Bounds) -> None:
    if size > bounds.body_bytes_max:
        raise RequestEntityTooLarge(bounds.body_bytes_max)
