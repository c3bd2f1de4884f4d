"""What runs the scripts on one Redis server. `server.RedisServer` does it over a link; `cqs.testing.fake_redis` in this
process, for tests."""

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
        """Names the life of the server now connected: new at each of its starts; b"" = never connected. A shard of
        another life is absent."""

    @property
    def is_reached(self) -> bool:
        """Whether it answered lately."""

    @property
    def is_short(self) -> bool:
        """Whether it answers, and has no room, or hardly any."""

    @property
    def trouble(self) -> str:
        """Why its shards are not served from it, or not wholly, in words; "" = they are."""

    async def start(self) -> None:
        """Connects; returns after one try, and goes on trying."""

    async def close(self) -> None:
        """Idempotent."""

    async def run(self, script: Script, keys: Sequence[bytes], arguments: Sequence[bytes | str | int]) -> Reply:
        """One script, one atomic step. Raises CacheUnavailable."""

    async def regained(self) -> bool:
        """After ConnectionLost: waits shortly for a new connection; whether there is one."""

    def has_room(self, size: int) -> bool:
        """Whether the server may keep that many more bytes of content; reserves them until it is asked how much it
        holds."""

    async def report(self) -> ServerReport:
        """What the server tells of itself now; never raises."""
