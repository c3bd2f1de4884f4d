"""The fast lane: serves plain SQS POSTs without aiohttp.

    socket ─► Lane ── plain? ──► dispatch ─► one write           plain = POST, HTTP/1.1, Host and Content-Length once,
               │                                                 to "/" or a queue's path, no transfer options that need
               └ anything else, every byte of it ─► aiohttp      special handling; one request at a time

A connection is handed over to aiohttp at most once, for good, and only when the lane owes it no answer. Requests that
are slow (incomplete after SLOW_S), too large or invalid in any way are handed over too: aiohttp's lane is the reference
implementation, and the only one that rejects requests. So this file produces no errors of its own, and both lanes give
the same answers (`tests/protocol/test_lanes.py`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import cast

from cqs.api.http.connection import FULL, told
from cqs.api.http.drive import Run, run_at_once
from cqs.api.http.plain_head import PlainHead, read_plain_head
from cqs.api.http.room import PLACE_FREE, Place
from cqs.api.lanes import SLOW_S, Lanes
from cqs.api.request import Reply, Request

_HEAD_END = b"\r\n\r\n"
_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


class Lane(asyncio.Protocol):
    """One connection, for as long as its requests are plain."""

    __slots__ = (
        "_behind", "_body_at", "_chunks", "_gone", "_has_served", "_head", "_is_busy", "_is_full", "_lanes", "_loop",
        "_need", "_place", "_run", "_size", "_transport", "_waiting", "address", "is_secure", "since_s",
    )  # fmt: skip

    def __init__(self, lanes: Lanes) -> None:
        self._lanes = lanes
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._run: Run | None = None
        self._gone: Callable[[], None] | None = None
        self._place: Place | None = None
        self._behind: Place | None = None
        self._is_busy = self._is_full = self._has_served = False
        self._waiting: list[bytes] = []
        self._chunks: list[bytes] = []
        self._head: PlainHead | None = None
        self._size = self._need = self._body_at = 0
        self.address = ""
        self.is_secure = False
        self.since_s = self._loop.time()
        """When the current state began: connected, idle, or receiving a request."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        peer = transport.get_extra_info("peername")
        self.address = peer[0] if isinstance(peer, tuple) else ""
        self.is_secure = transport.get_extra_info("sslcontext") is not None
        if self._lanes.is_stopping or not self._lanes.connections.admit(self):
            self._transport.write(FULL)
            self._transport.close()
            return
        self._lanes.entered(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        self._lanes.left(self)
        if not self._is_busy:
            self._leave()
        self._leave_behind()
        if self._gone is not None:
            self._gone()

    def pause_writing(self) -> None:
        self._is_full = True
        self._lanes.connections.unread.enter(self, self._loop.time())

    def resume_writing(self) -> None:
        self._is_full = False
        self._lanes.connections.unread.leave(self)
        self.since_s = self._loop.time()
        self._go_on()

    def unread(self) -> int:
        return 0 if self._transport is None else self._transport.get_write_buffer_size()

    def is_client_there(self) -> bool:
        return self._transport is not None and not self._transport.is_closing()

    def when_gone(self, call: Callable[[], None] | None) -> None:
        self._gone = call
        if call is not None and self._transport is None:
            call()

    def sweep(self, now_s: float) -> None:
        """Called about every second. Hands a slow request over to aiohttp, which has deadlines; aborts an idle
        connection."""
        if self._is_busy or self._is_full or self._transport is None:
            return
        bounds = self._lanes.bounds
        age_s = now_s - self.since_s
        if self._size:
            if age_s > SLOW_S:
                self._hand_over()
        elif age_s > (bounds.idle_s_max if self._has_served else bounds.header_s_max):
            self._transport.abort()

    def stop(self, *, is_patient: bool = False) -> None:
        is_idle = not self._is_busy and not self._size
        if is_idle and (self._has_served or not is_patient) and self._transport is not None:
            self._transport.close()

    def cut(self) -> None:
        if self._is_busy and self._run is not None:
            self._run.cancel()
        if self._transport is not None:
            self._transport.abort()

    def data_received(self, data: bytes) -> None:
        if self._is_busy or self._is_full:
            self._wait(data)
            return
        if not self._size:
            self.since_s = self._loop.time()
        self._chunks.append(data)
        self._size += len(data)
        if self._size > PLACE_FREE and not self._has_room():
            return
        if self._size >= self._need:
            self._advance(data if len(self._chunks) == 1 else b"".join(self._chunks))

    def _advance(self, raw: bytes) -> None:
        """`raw` is everything received of the current request, and possibly more."""
        self._chunks = [raw]
        if self._head is None and not self._read_head(raw):
            return
        if len(raw) == self._need:
            self._serve(raw)
        elif len(raw) > self._need:
            self._hand_over()

    def _read_head(self, raw: bytes) -> bool:
        """False when the head is incomplete, or not one that the lane serves."""
        end = raw.find(_HEAD_END)
        if end < 0:
            if len(raw) > self._lanes.bounds.header_bytes_max:
                self._hand_over()
            return False
        self._body_at = end + len(_HEAD_END)
        self._head = read_plain_head(raw[: self._body_at], self._lanes.bounds)
        if self._head is None:
            self._hand_over()
            return False
        self._need = self._body_at + self._head.body_length
        if self._head.is_continue_expected and len(raw) < self._need and self._transport is not None:
            self._transport.write(_CONTINUE)
        return True

    def _serve(self, raw: bytes) -> None:
        head = self._head
        assert head is not None
        body = raw[self._body_at :]
        request = Request(b"POST", head.target, [], body, self.address, self, head.fields, self.is_secure)
        self._chunks, self._head = [], None
        self._size = self._need = 0
        self._has_served = self._is_busy = True
        if self._place is not None:
            self._place.keep()
        self._run = run_at_once(self._answer(request), self._loop)

    async def _answer(self, request: Request) -> None:
        self._lanes.outbox.put(self._reply, await self._lanes.dispatcher.dispatch(request))

    def _reply(self, reply: Reply) -> None:
        if self._transport is not None:
            self._transport.write(self._lanes.writer.bytes_of(reply, self._loop.time()))
        if reply.undelivered is not None and not self.is_client_there():
            run_at_once(told(reply.undelivered), self._loop)
        self._is_busy = False
        self._leave()
        self.since_s = self._loop.time()
        if self._lanes.is_stopping and self._transport is not None:
            self._transport.close()
        elif self._waiting:
            self._go_on()

    def _go_on(self) -> None:
        """Bytes that arrived while an answer was outstanding were pipelined: aiohttp continues with them."""
        if self._waiting and not self._is_busy and not self._is_full and self.is_client_there():
            self._chunks, self._waiting = self._waiting, []
            self._hand_over()

    def _wait(self, data: bytes) -> None:
        """Holds bytes that arrive behind an unfinished or unread answer. No SDK pipelines that much, so aborting is
        enough."""
        self._waiting.append(data)
        size = sum(map(len, self._waiting))
        if self._transport is None or size <= PLACE_FREE:
            return
        self._transport.pause_reading()
        if self._behind is None:
            self._behind = self._lanes.room.place(self.cut_off)
        if not self._behind.grow_to(size):
            self.cut_off()

    def cut_off(self) -> None:
        self._waiting.clear()
        if self._transport is not None:
            self._transport.abort()

    def _leave_behind(self) -> None:
        if self._behind is not None:
            self._behind.leave()
            self._behind = None

    def _has_room(self) -> bool:
        if self._place is None:
            self._place = self._lanes.room.place(self._crowd_out)
        if self._place.grow_to(self._size):
            return True
        self._crowd_out()
        return False

    def _leave(self) -> None:
        if self._place is not None:
            self._place.leave()
            self._place = None

    def _crowd_out(self) -> None:
        """Keeps only the head, with which aiohttp's lane rejects the request."""
        head, end, _ = b"".join(self._chunks).partition(_HEAD_END)
        self._chunks = [head + end]
        self._hand_over(is_crowded_out=True)

    def _hand_over(self, *, is_crowded_out: bool = False) -> None:
        transport = self._transport
        assert transport is not None
        self._transport = None
        self._lanes.left(self)
        self._leave()
        self._leave_behind()
        reference = self._lanes.reference()
        reference.is_crowded_out = is_crowded_out
        transport.set_protocol(reference)
        transport.resume_reading()
        reference.connection_made(transport)
        reference.data_received(b"".join(self._chunks))
