"""A real Redis for a test or the session, on a private Unix socket. The launcher itself is
`deploy.cluster.redis_process`. When Redis is stopped, every key of CQS must have an expiry."""

from __future__ import annotations

import random
from collections.abc import Iterator

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from cqs.cache.redis.connection import Address
from cqs.cache.redis.server import LOOK_S, RedisServer
from cqs.cluster.breaker import Breaker
from deploy.cluster import redis_process

_ANSWER_S_MAX = 60.0
_NO_EXPIRY = -1


class RedisProcess(redis_process.RedisProcess):
    """A Redis for tests, which checks at its end that keys expire."""

    def stop(self) -> None:
        """Stops Redis at once. Idempotent. Raises AssertionError if a key of CQS has no expiry."""
        leaked = self.leaked() if self._process is not None else []
        super().stop()
        assert not leaked, f"keys without an expiry: {leaked}"

    def leaked(self) -> list[bytes]:
        """Returns the keys of CQS without an expiry; none if Redis does not answer or requires a password."""
        options = {"unix_socket_path": self.path} if self.path else {"host": "127.0.0.1", "port": self.port}
        with redis.Redis(socket_timeout=_ANSWER_S_MAX, retry=Retry(NoBackoff(), 0), **options) as admin:
            try:
                return [key for key in admin.scan_iter("cqs:*", 1_000) if admin.pttl(key) == _NO_EXPIRY]
            except redis.RedisError:
                return []


def session() -> Iterator[RedisProcess]:
    """For a session-scoped fixture."""
    with RedisProcess() as process:
        yield process


def server_at(
    process: RedisProcess,
    *,
    budget_bytes: int = 1 << 30,
    timeout_s: float = 60.0,
    gate: Breaker | None = None,
    look_s: float = LOOK_S,
) -> RedisServer:
    """Returns the cache's client for this Redis, not yet started."""
    rng = random.Random(1)
    return RedisServer(Address(path=process.path), gate or Breaker(rng), rng, budget_bytes, timeout_s, look_s)
