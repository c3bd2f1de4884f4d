"""The fast lane: plain SQS POSTs, without aiohttp.

    socket ─► Lane ── plain? ──► dispatch ─► one write           plain = POST, HTTP/1.1, Host and Content-Length once,
               │                                                 to "/" or a queue's path, nothing about the transfer
               └ anything else, every byte of it ─► aiohttp      that needs thought; one request at a time

A connection is handed over once, for good, and only when the lane owes it no answer. What is slow (an unfinished
request after SLOW_S), large beyond bounds or wrong in any way is handed over too: aiohttp's lane is the reference, and
the only one that knows how to refuse. So this file has no error of its own, and both lanes give the same answers
(`tests/protocol/test_lanes.py`).
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from email.utils import formatdate
from http import HTTPStatus
from typing import cast

import httptools

from cqs.api.dispatch import Dispatcher
from cqs.api.http.bounds import Bounds
from cqs.api.http.connection import FULL, Connections, told
from cqs.api.request import Headers, Reply, Request

SLOW_S = 1.0
PIPELINED_MAX = 262_144
"""Bytes that may wait behind an unanswered request before the lane stops reading."""
_HEAD_END = b"\r\n\r\n"
_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
_TARGET = re.compile(rb"/|/[0-9]{12}/[A-Za-z0-9_.-]{1,80}")
_NEEDS_THOUGHT = frozenset({b"transfer-encoding", b"content-encoding", b"upgrade", b"te", b"trailer"})
_STATUS_LINES = {status.value: f"HTTP/1.1 {status.value} {status.phrase}\r\n".encode() for status in HTTPStatus}


class Lanes:
    """What the lanes of one process share."""

    def __init__(
        self,
        dispatcher: Dispatcher,
        connections: Connections,
        bounds: Bounds,
        reference: Callable[[], asyncio.Protocol],
    ) -> None:
        """`reference` makes aiohttp's protocol for a connection that is handed over."""
        self.dispatcher = dispatcher
        self.connections = connections
        self.bounds = bounds
        self.reference = reference
        self.is_stopping = False
        self._open: set[Lane] = set()
        self._emptied = asyncio.Event()
        self._date_s = 0
        self._tail = b""

    def __call__(self) -> Lane:
        return Lane(self)

    def tail(self, now_s: float) -> bytes:
        """The header fields that end every answer, made anew once a second."""
        if now_s - self._date_s >= 1:
            self._date_s = int(now_s)
            self._tail = f"\r\nDate: {formatdate(usegmt=True)}\r\n\r\n".encode()
        return self._tail

    def entered(self, lane: Lane) -> None:
        self._open.add(lane)

    def left(self, lane: Lane) -> None:
        self._open.discard(lane)
        self.connections.leave(lane)
        if not self._open:
            self._emptied.set()

    async def stop(self, stop_s_max: float) -> None:
        """Closes idle connections now and the others after their answer, at the latest after `stop_s_max`."""
        self.is_stopping = True
        for lane in list(self._open):
            lane.stop()
        self._emptied.clear()
        if self._open:
            try:
                await asyncio.wait_for(self._emptied.wait(), stop_s_max)
            except TimeoutError:
                for lane in list(self._open):
                    lane.cut()


class Lane(asyncio.Protocol):
    """One connection, as long as it is plain."""

    __slots__ = (
        "_body_at", "_chunks", "_head", "_headers", "_is_full", "_lanes", "_loop", "_need", "_size",
        "_target", "_task", "_transport", "_waiting", "address", "since_s",
    )  # fmt: skip

    def __init__(self, lanes: Lanes) -> None:
        self._lanes = lanes
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._task: asyncio.Task[None] | None = None
        self._is_full = False
        self._waiting: list[bytes] = []
        self._chunks: list[bytes] = []
        self._headers: Headers = []
        self._head: dict[bytes, bytes] = {}
        self._target = b""
        self._size = self._need = self._body_at = 0
        self.address = ""
        self.since_s = self._loop.time()
        """Since when the present state lasts: connected, idle, or a request that is not complete yet."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        peer = transport.get_extra_info("peername")
        self.address = peer[0] if isinstance(peer, tuple) else ""
        if self._lanes.is_stopping or not self._lanes.connections.admit(self):
            self._transport.write(FULL)
            self._transport.close()
            return
        self._lanes.entered(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        self._lanes.left(self)

    def pause_writing(self) -> None:
        self._is_full = True

    def resume_writing(self) -> None:
        self._is_full = False
        self._go_on()

    def is_client_there(self) -> bool:
        return self._transport is not None and not self._transport.is_closing()

    def sweep(self, now_s: float) -> None:
        """Called about every second: what is slow goes to aiohttp, which has deadlines; what is silent goes."""
        if self._task is not None or self._transport is None:
            return
        bounds = self._lanes.bounds
        age_s = now_s - self.since_s
        if self._size:
            if age_s > SLOW_S:
                self._hand_over()
        elif age_s > (bounds.idle_s_max if self._target else bounds.header_s_max):
            self._transport.abort()

    def stop(self) -> None:
        """The server stops: idle, the connection closes; else after its answer."""
        if self._task is None and self._transport is not None:
            self._transport.close()

    def cut(self) -> None:
        if self._task is not None:
            self._task.cancel()
        if self._transport is not None:
            self._transport.abort()

    def data_received(self, data: bytes) -> None:
        if self._task is not None or self._is_full:
            self._waiting.append(data)
            if self._transport is not None and sum(map(len, self._waiting)) > PIPELINED_MAX:
                self._transport.pause_reading()
            return
        if not self._size:
            self.since_s = self._loop.time()
        self._chunks.append(data)
        self._size += len(data)
        if self._size >= self._need:
            self._advance(data if len(self._chunks) == 1 else b"".join(self._chunks))

    def on_url(self, url: bytes) -> None:
        self._target = self._target + url

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers.append((name, value))

    def _advance(self, raw: bytes) -> None:
        """`raw` is all there is of the present request, and perhaps more."""
        self._chunks = [raw]
        if not self._need:
            end = raw.find(_HEAD_END)
            if end < 0:
                if len(raw) > self._lanes.bounds.header_bytes_max:
                    self._hand_over()
                return
            self._body_at = end + len(_HEAD_END)
            length = self._read_head(raw[: self._body_at])
            if length < 0:
                self._hand_over()
                return
            self._need = self._body_at + length
            if len(raw) < self._need and self._head.get(b"expect", b"").lower() == b"100-continue":
                assert self._transport is not None
                self._transport.write(_CONTINUE)
        if len(raw) >= self._need:
            self._serve(raw)

    def _read_head(self, head: bytes) -> int:
        """Length of the body, -1 when the request is not plain."""
        self._target, self._headers = b"", []
        parser = httptools.HttpRequestParser(self)
        try:
            parser.feed_data(head)
            is_plain = parser.get_method() == b"POST" and parser.get_http_version() == "1.1"
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            return -1
        headers = self._headers
        fields = self._head = {name.lower(): value for name, value in headers}
        length = fields.get(b"content-length", b"")
        bounds = self._lanes.bounds
        if (
            not is_plain
            or len(fields) != len(headers)
            or len(headers) > bounds.headers_max
            or len(head) > bounds.header_bytes_max
            or b"host" not in fields
            or not (length.isdigit() and len(length) < 10)
            or int(length) > bounds.body_bytes_max
            or not _NEEDS_THOUGHT.isdisjoint(fields)
            or fields.get(b"connection", b"keep-alive").lower() != b"keep-alive"
            or not _TARGET.fullmatch(self._target)
        ):
            return -1
        return int(length)

    def _serve(self, raw: bytes) -> None:
        if len(raw) > self._need:
            self._waiting.insert(0, raw[self._need :])
        request = Request(
            b"POST",
            self._target,
            self._headers,
            raw[self._body_at : self._need],
            self.address,
            self.is_client_there,
            self._head,
        )
        self._chunks = []
        self._size = self._need = 0
        self._task = self._loop.create_task(self._answer(request))

    async def _answer(self, request: Request) -> None:
        reply = await self._lanes.dispatcher.dispatch(request)
        if self._transport is not None:
            self._transport.write(self._bytes_of(reply))
        if reply.undelivered is not None and not self.is_client_there():
            await told(reply.undelivered)
        self._task = None
        self.since_s = self._loop.time()
        if self._lanes.is_stopping and self._transport is not None:
            self._transport.close()
        elif self._waiting:
            self._go_on()

    def _bytes_of(self, reply: Reply) -> bytes:
        fields = b"".join([b"%b: %b\r\n" % field for field in reply.headers])
        return b"%b%bServer: cqs\r\nContent-Length: %d%b%b" % (
            _STATUS_LINES[reply.status],
            fields,
            len(reply.body),
            self._lanes.tail(self._loop.time()),
            reply.body,
        )

    def _go_on(self) -> None:
        """What came while an answer was owed was pipelined: aiohttp goes on with it."""
        if self._waiting and self._task is None and not self._is_full and self.is_client_there():
            self._chunks, self._waiting = self._waiting, []
            self._hand_over()

    def _hand_over(self) -> None:
        transport = self._transport
        assert transport is not None
        self._transport = None
        self._lanes.left(self)
        reference = self._lanes.reference()
        transport.set_protocol(reference)
        transport.resume_reading()
        reference.connection_made(transport)
        reference.data_received(b"".join(self._chunks))
