"""Runs the scripts of the Redis cache on fakeredis, in this process: far slower than Redis, but with nothing to install
or start."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import fakeredis
import redis

from cqs.cache.redis.replies import Reply
from cqs.cache.redis.script import Script
from cqs.cache.report import ServerReport
from cqs.errors import CacheUnavailable


class FakeRedisServer:
    """A `cqs.cache.redis.runner.ScriptRunner`. `restart` begins a new life of the server, with or without its
    contents."""

    def __init__(self, budget_bytes: int = 1_000_000) -> None:
        self.redis = fakeredis.FakeRedis()
        self.is_down = False
        self._life = 1
        self._free_bytes = budget_bytes

    @property
    def run_id(self) -> bytes:
        return b"%016d" % self._life

    @property
    def is_reached(self) -> bool:
        return not self.is_down

    @property
    def is_short(self) -> bool:
        return False

    @property
    def trouble(self) -> str:
        return "is down" if self.is_down else ""

    async def start(self) -> None:
        """Nothing to connect to."""

    async def close(self) -> None:
        self.redis.close()

    def restart(self, *, is_empty: bool = True) -> None:
        self._life += 1
        if is_empty:
            self.redis.flushall()

    async def run(self, script: Script, keys: Sequence[bytes], arguments: Sequence[bytes | str | int]) -> Reply:
        if self.is_down:
            raise CacheUnavailable("fakeredis is down")
        try:
            reply = self.redis.execute_command("EVAL", script.text, len(keys), *keys, *arguments)  # type: ignore[no-untyped-call]
            return cast(Reply, reply)
        except redis.RedisError as error:
            raise CacheUnavailable(f"fakeredis: {error}") from error

    async def regained(self) -> bool:
        return not self.is_down

    def has_room(self, size: int) -> bool:
        if size > self._free_bytes:
            return False
        self._free_bytes -= size
        return True

    async def report(self) -> ServerReport:
        return ServerReport(problems=("is down",) if self.is_down else ())
