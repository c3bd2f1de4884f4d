"""A node that was paused, and a server that other nodes may have stopped using meanwhile."""

from __future__ import annotations

from pathlib import Path

import pytest
import redis

from cqs.cache.interface import Residency
from cqs.cache.redis.cache import RedisCache
from cqs.cache.redis.life import KEPT_MS, SEEN_MS
from tests.contract.redis_address import fill, node, point, reconnect, residency, server_of
from tests.needs import needs
from tests.redis_server import RedisProcess

pytestmark = needs("redis-server")


class Still:
    """A node that is paused for as long as the test says, and its clock."""

    def __init__(self, cache: RedisCache) -> None:
        self._now_s = 0.0
        server_of(cache)._life.__dict__["_now_s"] = lambda: self._now_s
        server_of(cache)._life.__dict__["_ticked_s"] = 0.0

    def stand(self, s: float) -> None:
        self._now_s += s


@pytest.mark.parametrize(("still_s", "expected"), [(4.0, Residency.READY), (5.0, Residency.ABSENT)])
async def test_a_node_that_stood_still_does_not_vouch_for_a_server_that_nobody_looked_after(
    processes: list[RedisProcess], address: Path, still_s: float, expected: Residency
) -> None:
    async with node(address) as cache:
        still = Still(cache)
        await fill(cache)
        with redis.Redis(unix_socket_path=processes[0].path) as admin:
            admin.pexpire("cqs:life", KEPT_MS - SEEN_MS)

        still.stand(still_s)
        await reconnect(cache)

        assert await residency(cache) is expected


async def test_a_node_that_stood_still_believes_a_server_that_others_look_after(address: Path) -> None:
    async with node(address) as cache:
        still = Still(cache)
        await fill(cache)

        still.stand(60)
        await reconnect(cache)

        assert await residency(cache) is Residency.READY


async def test_a_node_that_stood_still_while_a_server_failed_over_and_back_does_not_vouch_for_it_though_it_wakes_first(
    processes: list[RedisProcess], address: Path
) -> None:
    async with node(address) as first, node(address, 1) as second:
        still = Still(first)
        await fill(first)
        point(address, processes[1])
        await reconnect(second)
        with redis.Redis(unix_socket_path=processes[0].path) as admin:
            admin.delete("cqs:life", "cqs:servers")

        point(address, processes[0])
        still.stand(60)
        await reconnect(first)
        assert await residency(first) is Residency.ABSENT
        await fill(first)
        await reconnect(second)

        assert await residency(first) is await residency(second) is Residency.READY
