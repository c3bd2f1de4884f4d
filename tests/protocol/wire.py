"""Requests and responses as bytes on the wire, for tests that compare them byte for byte."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence

from cqs.api.request import Request
from tests.protocol.world import ANSWER_S_MAX, Door, json_request

_DATE = re.compile(rb"Date: [^\r]*")
_HANDLE = re.compile(rb"([A-Za-z0-9+/]{46})[A-Za-z0-9+/]{14}")
"""A receipt handle; its end depends on a world's secret."""
_LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)
PROBE = b"POST / HTTP/1.1\r\nHost: a\r\nX-Amz-Target: AmazonSQS.ListQueues\r\nContent-Length: 2\r\n\r\n{}"
"""A plain request."""


async def heard(door: Door, pieces: Sequence[bytes]) -> list[bytes]:
    """Sends these pieces and then, if the connection is still open, a plain request. Returns all responses."""
    reader, writer = await door.connect()
    try:
        for piece in pieces:
            writer.write(piece)
            for _ in range(4):
                await asyncio.sleep(0)
        first = await answer(reader)
        if not first:
            return [first]
        writer.write(PROBE)
        return [first, await answer(reader)]
    except ConnectionError:
        return [b"reset"]
    finally:
        writer.close()


async def answer(reader: asyncio.StreamReader) -> bytes:
    """Reads one response; b"" if the connection is closed instead."""
    async with asyncio.timeout(ANSWER_S_MAX):
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            while head.startswith(b"HTTP/1.1 100"):
                head = await reader.readuntil(b"\r\n\r\n")
            length = _LENGTH.search(head)
            body = await reader.readexactly(int(length[1]) if length else 0)
        except (asyncio.IncompleteReadError, ConnectionError):
            return b""
    return _DATE.sub(b"Date: -", head) + _HANDLE.sub(rb"\1", body)


def wire(request: Request) -> bytes:
    """Returns the request as bytes, with its length, unless it has header fields that can't be sent."""
    fields = b"".join(name + b": " + value + b"\r\n" for name, value in request.headers)
    target = request.target or b"/"
    return b"%b %b HTTP/1.1\r\n%bContent-Length: %d\r\n\r\n%b" % (
        request.method,
        target,
        fields,
        len(request.body),
        request.body,
    )


POLL = wire(json_request("ReceiveMessage", b'{"QueueUrl":"/000000000000/orders","WaitTimeSeconds":20}'))
"""A receive that waits while the world's standard queue is empty."""
