"""Bells over Redis pub/sub. The scripts publish (`scripts/ears.lua`); this node receives here.

Besides the link for scripts, each server has one connection that subscribes to this node's channel and to the broadcast
channel, once, when it connects. Subscriptions are not per queue, so a long poll costs no command. It is a separate
connection because Redis closes a subscriber with 32 MiB of unread output, which a few large receives can reach.

A connection that was lost, or silent for PING_S plus the timeout of a call, may have missed notifications. Until it is
back, and once more then, one receive of each shard is woken every PING_S to look.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import Awaitable, Callable, Mapping
from functools import partial

import structlog

from cqs.cache.bells import Sleepers
from cqs.cache.interface import Shard
from cqs.cache.redis import keys
from cqs.cache.redis.connection import Address, Link, Send
from cqs.cache.redis.replies import Reply
from cqs.cache.redis.scripts import load
from cqs.cache.redis.servers import Servers
from cqs.errors import CacheUnavailable

PING_S = 1.0
_RING = load("ring")
_log = structlog.get_logger("cqs.bells")


class RedisBells:
    """`Bells` of the node named in `servers`. `addresses`: each server's address, by its name."""

    def __init__(
        self, servers: Servers, addresses: Mapping[str, Address], rng: random.Random, ping_s: float = PING_S
    ) -> None:
        self._servers = servers
        self._ping_s = ping_s
        self._ears = {name: _Ear(address, rng, servers.node, self._hear) for name, address in addresses.items()}
        self._sleepers: Sleepers | None = None
        self._calls: set[asyncio.Future[Reply]] = set()
        self._watches: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        """Subscribes; keeps retrying a server that can't be reached."""
        await asyncio.gather(*(ear.link.start() for ear in self._ears.values()))
        self._watches = [
            asyncio.create_task(ear.watch(self._ping_s, partial(self._nudge, name))) for name, ear in self._ears.items()
        ]

    async def close(self) -> None:
        """Idempotent."""
        for task in self._watches:
            task.cancel()
        await asyncio.gather(*self._watches, *self._calls, return_exceptions=True)
        await asyncio.gather(*(ear.link.close() for ear in self._ears.values()))

    def attach(self, sleepers: Sleepers) -> None:
        self._sleepers = sleepers
        self._servers.promise = sleepers.promise

    def is_heard(self, shard: Shard) -> bool:
        return self._ears[self._servers.name_of(shard)].link.is_connected

    def ring(self, shard: Shard, count: int) -> None:
        self._start(self._ring(shard, count))

    def end(self, shard: Shard, queue_uid: int) -> None:
        with contextlib.suppress(CacheUnavailable):
            ear = self._ears[self._servers.name_of(shard)]
            self._start(ear.link.call(b"PUBLISH", keys.NEWS, b"ended %d" % queue_uid))

    async def _ring(self, shard: Shard, count: int) -> Reply:
        """States whether any receive sleeps here at the moment of sending: one that looks later registers this node
        again."""
        is_waiting = self._sleepers is not None and self._sleepers.asleep(shard) > 0
        return await self._servers.run(_RING, shard, count, int(is_waiting))

    def _start(self, call: Awaitable[Reply]) -> None:
        task = asyncio.ensure_future(call)
        self._calls.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Future[Reply]) -> None:
        self._calls.discard(task)
        if not task.cancelled() and task.exception() is not None:
            _log.debug("ring_lost", reason=str(task.exception()))

    def _hear(self, channel: bytes, news: bytes) -> None:
        if self._sleepers is None:
            return
        word, _, rest = news.partition(b" ")
        if channel != keys.NEWS:
            shard, count = keys.shard_of(word), int(rest)
            woken = self._sleepers.wake(shard, count)
            if woken < count:
                self.ring(shard, count - woken)
        elif word == b"filled":
            self._sleepers.wake_all(keys.shard_of(rest))
        elif word == b"ended":
            self._sleepers.end(int(rest))

    def _nudge(self, server: str) -> None:
        if self._sleepers is not None:
            self._sleepers.nudge(lambda shard: self._servers.name_of(shard) == server)


class _Ear:
    """The connection on which this node hears one server."""

    def __init__(self, address: Address, rng: random.Random, node: bytes, hear: Callable[[bytes, bytes], None]) -> None:
        self._channels = (keys.WAKE + node, keys.NEWS)
        self._connections = 0
        self.link = Link(address, rng, self._subscribe, on_news=lambda push: hear(push[1], push[2]))

    async def watch(self, ping_s: float, nudge: Callable[[], None]) -> None:
        """Runs forever: checks the connection, and nudges when a notification may have been missed."""
        connections = self._connections
        while True:
            await asyncio.sleep(ping_s)
            with contextlib.suppress(CacheUnavailable):
                await self.link.call(b"PING")
            if not self.link.is_connected or connections != self._connections:
                connections = self._connections
                nudge()

    async def _subscribe(self, send: Send) -> None:
        await send(b"HELLO", 3)
        await asyncio.gather(*(send(b"SUBSCRIBE", channel) for channel in self._channels))
        self._connections += 1
