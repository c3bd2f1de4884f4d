"""Runs scripts on one Redis server. `server.RedisServer` does so over a link, `cqs.testing.fake_redis` in this process
for tests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from cqs.cache.redis.replies import Reply
from cqs.cache.redis.script import Script
from cqs.cache.report import ServerReport


class ScriptRunner(Protocol):
    """One Redis server."""

    @property
    def run_id(self) -> bytes:
        """Identifies the current life of the server: new each time it starts; b"" = never connected. A shard of another
        life is absent."""

    @property
    def is_reached(self) -> bool:
        """Whether it answered recently."""

    @property
    def is_short(self) -> bool:
        """Whether it answers but has no memory left, or hardly any."""

    @property
    def trouble(self) -> str:
        """Why its shards are not (fully) served from it, in words; "" = they are."""

    async def start(self) -> None:
        """Connects; returns after one attempt and keeps retrying."""

    async def close(self) -> None:
        """Idempotent."""

    async def run(self, script: Script, keys: Sequence[bytes], arguments: Sequence[bytes | str | int]) -> Reply:
        """Runs one script as one atomic step. Raises CacheUnavailable."""

    async def regained(self) -> bool:
        """After ConnectionLost: waits briefly for a new connection; whether there is one."""

    def has_room(self, size: int) -> bool:
        """Whether the server may keep that many more bytes of content. If so they count as used until its memory is
        next read."""

    async def report(self) -> ServerReport:
        """The server's current status; never raises."""
