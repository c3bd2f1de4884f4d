"""One pipelined connection to one Redis server: the hot path's client.

    call() ─► out buffer ─► one write per loop turn ─► Redis ─► hiredis.Reader ─► futures, in order of the calls

redis-py costs 45 to 90 µs a call, this client 5 (hiredis packs and parses in C). Replies are matched by position, so a
cancelled caller only drops its future and can't shift anybody's answer. A timeout or a protocol error closes the
connection and fails all outstanding calls, which may have taken effect. Reconnects with full jitter.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import ssl
from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import cast

import hiredis

from cqs.cache.redis.refusals import in_words
from cqs.cache.redis.replies import ConnectionLost, Reply, UnknownScript, settle, unasked
from cqs.cache.redis.script import Script
from cqs.errors import CacheUnavailable

Word = bytes | str | int | float
Send = Callable[..., "asyncio.Future[Reply]"]
PENDING_MAX = 10_000
RECONNECT_MIN_S, RECONNECT_MAX_S = 0.05, 2.0


@dataclass(frozen=True, slots=True)
class Address:
    """Where a Redis server listens, and the credentials. `path` = a unix socket. `name` = what all nodes call it."""

    host: str = "127.0.0.1"
    port: int = 6379
    path: str = ""
    username: str = ""
    password: str = ""
    database: int = 0
    tls: ssl.SSLContext | None = None
    name: str = ""

    def __str__(self) -> str:
        return self.path or f"{self.host}:{self.port}"


class Link:
    """Owns the connection and reconnects it. `on_ready` runs after each connect, before any caller's command. Every
    failure is CacheUnavailable; a call that fails after it was written may have taken effect. `on_news` gets the
    pub/sub messages of a link that uses RESP3 (HELLO 3)."""

    def __init__(
        self,
        address: Address,
        rng: random.Random,
        on_ready: Callable[[Send], Coroutine[object, object, None]] | None = None,
        timeout_s: float = 1.0,
        on_news: Callable[[list[bytes]], None] | None = None,
    ) -> None:
        self.address = address
        self._rng = rng
        self._on_ready = on_ready
        self._timeout_s = timeout_s
        self._on_news = on_news
        self._transport: asyncio.Transport | None = None
        self._is_ready = self._is_closed = self._is_watching = False
        self._reader = hiredis.Reader()
        self._out: list[bytes] = []
        self._pending: deque[tuple[asyncio.Future[Reply], float]] = deque()
        self._runner: asyncio.Task[None] | None = None
        self._lost, self._gained = asyncio.Event(), asyncio.Event()
        self._reason, self._is_refused = "not connected yet", False
        self.losses = 0
        """Number of connections that were lost or given up."""

    @property
    def is_connected(self) -> bool:
        return self._is_ready

    @property
    def reason(self) -> str:
        """Why there is no connection, or was none last time, in words."""
        return self._reason if self._is_refused else f"can't be reached: {self._reason}"

    async def connected(self, timeout_s: float) -> bool:
        """Waits up to `timeout_s` for a connection; whether there is one. Needs no task (`cqs.api.http.drive`)."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._gained.wait(), timeout_s)
        return self._is_ready

    async def start(self) -> None:
        """Connects, and reconnects in the background until closed. Returns when connected or after one attempt."""
        self._loop = asyncio.get_running_loop()
        first = asyncio.Event()
        self._runner = asyncio.create_task(self._run(first), name=f"redis {self.address}")
        await first.wait()

    async def close(self) -> None:
        """Idempotent; fails outstanding calls."""
        self._is_closed = True
        self.give_up("closed")
        if self._runner is not None:
            self._runner.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._runner
        await asyncio.sleep(0)

    def call(self, *command: Word) -> asyncio.Future[Reply]:
        """Queues a command for the next write; the future gets Redis' reply or CacheUnavailable."""
        if not self._is_ready:
            raise CacheUnavailable(f"Redis {self.address}: {self.reason}")
        return self._send(*command)

    async def run(self, script: Script, keys: Sequence[bytes], arguments: Sequence[bytes | str | int]) -> Reply:
        """Runs the script in one round trip; sends its text if Redis does not know it yet."""
        try:
            return await self.call(b"EVALSHA", script.sha, len(keys), *keys, *arguments)
        except UnknownScript:
            return await self.call(b"EVAL", script.text, len(keys), *keys, *arguments)

    def _send(self, *command: Word) -> asyncio.Future[Reply]:
        if self._transport is None:
            raise CacheUnavailable(f"Redis {self.address}: {self.reason}")
        if len(self._pending) >= PENDING_MAX:
            raise CacheUnavailable(f"Redis {self.address} is behind: {PENDING_MAX} calls wait for an answer")
        loop = self._loop
        future: asyncio.Future[Reply] = loop.create_future()
        if not self._out:
            loop.call_soon(self._flush)
        if not self._is_watching:
            self._is_watching = True
            loop.call_later(self._timeout_s, self._watch)
        self._out.append(hiredis.pack_command(command))  # type: ignore[arg-type]
        self._pending.append((future, loop.time() + self._timeout_s))
        return future

    def _flush(self) -> None:
        if self._transport is not None and self._out:
            self._transport.write(b"".join(self._out))
        self._out.clear()

    def _watch(self) -> None:
        """Checks whether the oldest call is overdue, and schedules the next check for when it would be."""
        self._is_watching = bool(self._pending) and not self._is_closed
        if not self._is_watching:
            return
        loop, due = self._loop, self._pending[0][1]
        if loop.time() >= due:
            self._is_watching = False
            self.give_up(f"no answer for {self._timeout_s:.3g} s")
        else:
            loop.call_at(due, self._watch)

    def _made(self, transport: asyncio.Transport) -> None:
        self._transport = transport

    def _received(self, transport: asyncio.Transport, data: bytes) -> None:
        if transport is not self._transport:
            return
        self._reader.feed(data)
        try:
            while (reply := self._reader.gets()) is not False:
                if type(reply) is hiredis.PushNotification and self._is_news(reply):
                    continue
                if not self._pending:
                    return self.give_up(unasked(reply), is_refused=True)
                settle(self._pending.popleft()[0], reply, str(self.address))
        except (hiredis.ProtocolError, IndexError) as error:
            self.give_up(f"sent an invalid reply: {error}", is_refused=True)

    def _is_news(self, push: list[bytes]) -> bool:
        """Passes on pub/sub messages. Any other push confirms a subscription and is treated as its reply."""
        if push[0] != b"message" or self._on_news is None:
            return False
        self._on_news(push)
        return True

    def _closed(self, transport: asyncio.Transport, reason: str) -> None:
        if transport is self._transport:
            self.give_up(reason)

    def give_up(self, reason: str, *, is_refused: bool = False) -> None:
        """Closes the connection and opens another; outstanding calls fail. `is_refused`: the server was reached."""
        transport, self._transport = self._transport, None
        self._is_ready = False
        self._gained.clear()
        self._reason, self._is_refused = reason, is_refused
        self.losses += 1
        self._out.clear()
        self._reader = hiredis.Reader()
        outstanding, self._pending = self._pending, deque()
        for future, _ in outstanding:
            if not future.done():
                future.set_exception(ConnectionLost(f"Redis {self.address}: {reason}"))
        if transport is not None:
            transport.abort()
        self._lost.set()

    async def _run(self, first: asyncio.Event) -> None:
        pause_s = RECONNECT_MIN_S
        while not self._is_closed:
            self._lost.clear()
            try:
                async with asyncio.timeout(self._timeout_s * 3):
                    await self._connect()
                pause_s = RECONNECT_MIN_S
                first.set()
                await self._lost.wait()
            except Exception as error:  # Even a bug, for example in a greeting, must not end the retries.
                is_refused = isinstance(error, CacheUnavailable) and not isinstance(error, ConnectionLost)
                self.give_up(in_words(error, self.address) or "timeout while connecting", is_refused=is_refused)
            first.set()
            await asyncio.sleep(self._rng.random() * pause_s)
            pause_s = min(pause_s * 2, RECONNECT_MAX_S)

    async def _connect(self) -> None:
        loop, where = self._loop, self.address
        if where.path:
            await loop.create_unix_connection(lambda: _Wire(self), where.path)
        else:
            await loop.create_connection(lambda: _Wire(self), where.host, where.port, ssl=where.tls)
        if where.password:
            await self._send(b"AUTH", *([where.username] if where.username else []), where.password)
        if where.database:
            await self._send(b"SELECT", where.database)
        if self._on_ready is not None:
            await self._on_ready(self._send)
        self._is_ready = True
        self._gained.set()


class _Wire(asyncio.Protocol):
    """One TCP or unix connection. The link outlives it, and ignores a connection it has given up."""

    def __init__(self, link: Link) -> None:
        self._link = link

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._link._made(self._transport)

    def data_received(self, data: bytes) -> None:
        self._link._received(self._transport, data)

    def connection_lost(self, exc: Exception | None) -> None:
        self._link._closed(self._transport, str(exc or "connection closed by Redis"))
