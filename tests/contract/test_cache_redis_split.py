"""One address under which two nodes reach two different servers."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from cqs.cache.interface import Residency
from cqs.cache.redis.cache import RedisCache
from cqs.cache.redis.server_list import ServerList
from cqs.errors import CacheUnavailable
from tests.contract.redis_address import NAME, fill, node, point, reconnect, residency, server_of
from tests.needs import needs
from tests.redis_server import RedisProcess

pytestmark = needs("redis-server")


def list_of(cache: RedisCache) -> ServerList:
    listed = server_of(cache).list
    assert listed is not None
    return listed


async def look(cache: RedisCache) -> None:
    """Runs the check that each node does in the background every LOOK_S."""
    await server_of(cache)._keep_list(list_of(cache).run_ids[NAME])


async def test_a_server_is_not_used_if_older_nodes_reach_another_one_at_its_address(
    processes: list[RedisProcess], address: Path
) -> None:
    async with node(address) as elder:
        point(address, processes[1])
        async with node(address, 1) as younger:
            await fill(younger)
            list_of(younger).keep_from(list_of(elder).run_ids)

            with pytest.raises(CacheUnavailable, match="other nodes reach another server by this address"):
                await residency(younger)
            with pytest.raises(CacheUnavailable):
                await look(younger)
            report = (await younger.servers.reports())[NAME]
            assert "other nodes reach another server by this address" in report.problems[0]
            assert younger.servers.lost() == [NAME]

            list_of(younger).keep_from({})
            await reconnect(younger)
            assert await residency(younger) is Residency.ABSENT


async def test_a_server_is_used_again_once_its_address_leads_to_the_server_of_the_older_nodes(
    processes: list[RedisProcess], address: Path
) -> None:
    async with node(address) as elder:
        await fill(elder)
        point(address, processes[1])
        async with node(address, 1) as younger:
            list_of(younger).keep_from(list_of(elder).run_ids)
            with pytest.raises(CacheUnavailable):
                await look(younger)

            point(address, processes[0])
            async with asyncio.timeout(60):
                while not await server_of(younger).regained():
                    pass

            assert await residency(younger) is await residency(elder) is Residency.READY


async def test_a_node_connects_anew_once_when_younger_ones_reach_another_server(
    processes: list[RedisProcess], address: Path
) -> None:
    async with node(address) as elder:
        point(address, processes[1])
        async with node(address, 1) as younger:
            list_of(elder).doubt(list_of(younger).run_ids)
            with pytest.raises(CacheUnavailable):
                await look(elder)
            async with asyncio.timeout(60):
                while not await server_of(elder).regained():
                    pass
            await look(elder)

            assert list_of(elder).run_ids == list_of(younger).run_ids
