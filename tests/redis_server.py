"""A real Redis of the test session, on a private unix socket; the launcher itself is `deploy.cluster.redis_process`."""

from __future__ import annotations

import random
from collections.abc import Iterator

from cqs.cache.redis.connection import Address
from cqs.cache.redis.server import LOOK_S, RedisServer
from cqs.cluster.breaker import Breaker
from deploy.cluster.redis_process import RedisProcess

__all__ = ["RedisProcess", "server_at", "session"]


def session() -> Iterator[RedisProcess]:
    """For a fixture of scope session."""
    with RedisProcess() as process:
        yield process


def server_at(
    process: RedisProcess,
    *,
    budget_bytes: int = 1 << 30,
    timeout_s: float = 1.0,
    gate: Breaker | None = None,
    look_s: float = LOOK_S,
) -> RedisServer:
    """The cache's view of it, not yet started."""
    rng = random.Random(1)
    return RedisServer(Address(path=process.path), gate or Breaker(rng), rng, budget_bytes, timeout_s, look_s)
