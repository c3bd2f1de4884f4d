"""Servers that were unreachable but kept running: their content is stale, so shards are refilled."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
import redis

from cqs.cache.interface import Residency
from cqs.cache.redis.connection import Send
from cqs.cache.redis.replies import ConnectionLost
from cqs.cache.redis.server_list import Noted, ServerList
from tests.contract.redis_address import NAME, fill, node, point, reconnect, residency, server_of
from tests.needs import needs
from tests.redis_server import RedisProcess

pytestmark = needs("redis-server")


async def test_an_address_that_comes_back_to_a_server_it_had_left_is_filled_anew(
    processes: list[RedisProcess], address: Path
) -> None:
    async with node(address) as first, node(address, 1) as second:
        await fill(first)
        point(address, processes[1])
        await reconnect(first, second)
        assert await residency(first) is Residency.ABSENT

        point(address, processes[0])
        await reconnect(first)
        assert await residency(first) is Residency.ABSENT
        await fill(first)
        await reconnect(second)

        assert await residency(second) is Residency.READY
        assert await residency(first) is Residency.READY


async def test_a_server_that_was_cut_off_and_stayed_where_it_was_keeps_its_shards(address: Path) -> None:
    async with node(address) as first, node(address, 1) as second:
        await fill(first)
        await reconnect(first, second)

        assert await residency(first) is await residency(second) is Residency.READY


async def test_a_server_that_no_node_looked_after_is_filled_anew(processes: list[RedisProcess], address: Path) -> None:
    async with node(address) as cache:
        await fill(cache)
        with redis.Redis(unix_socket_path=processes[0].path) as admin:
            admin.delete("cqs:life", "cqs:servers")

        async with node(address, 1) as other:
            assert await residency(other) is Residency.ABSENT
            await fill(other)
            await reconnect(cache)
            assert await residency(cache) is Residency.READY


async def test_a_server_all_were_cut_off_from_keeps_its_shards(processes: list[RedisProcess], address: Path) -> None:
    async with node(address) as first, node(address, 1) as second:
        await fill(first)
        with redis.Redis(unix_socket_path=processes[0].path) as admin:
            admin.delete("cqs:life", "cqs:servers")

        await reconnect(second, first)
        assert await residency(first) is await residency(second) is Residency.READY


async def test_what_is_filled_after_all_was_flushed_stays(processes: list[RedisProcess], address: Path) -> None:
    async with node(address) as cache:
        await fill(cache)
        with redis.Redis(unix_socket_path=processes[0].path) as admin:
            admin.flushall()
        await fill(cache)

        await reconnect(cache)
        assert await residency(cache) is Residency.READY


async def test_a_server_that_nodes_checked_in_an_earlier_incarnation_keeps_its_shards(
    processes: list[RedisProcess], address: Path
) -> None:
    async with node(address) as cache:
        await fill(cache)
        with redis.Redis(unix_socket_path=processes[0].path) as admin:
            admin.delete("cqs:life")

        await reconnect(cache)
        assert await residency(cache) is Residency.READY


@pytest.mark.parametrize(("version", "expected"), [(2, Residency.READY), (3, Residency.ABSENT)])
async def test_a_server_that_a_list_passed_over_is_filled_anew(
    address: Path, version: int, expected: Residency
) -> None:
    async with node(address) as before:
        await fill(before)
    async with node(address, 1, version) as after:
        assert await residency(after) is expected


class _Overtaken(ServerList):
    """Another node with the same list connects before this one has recorded it."""

    def __init__(self, version: int, address: Path) -> None:
        super().__init__(version, [NAME], lambda _: NAME, let_go_ms=1)
        self._of_others = version, address

    async def note(self, send: Send, name: str, run_id: str, new_mark: str) -> Noted:
        version, address = self._of_others
        async with node(address, 2, version):
            return await super().note(send, name, run_id, new_mark)


async def test_a_server_that_a_list_passed_over_is_stale_for_each_of_its_nodes(address: Path) -> None:
    async with node(address) as before:
        await fill(before)
    async with node(address, 1, 3, listed=_Overtaken(3, address)) as after:
        assert await residency(after) is Residency.ABSENT


class _Unanswered(ServerList):
    """A link that loses the first answer."""

    is_lost = False

    async def note(self, send: Send, name: str, run_id: str, new_mark: str) -> Noted:
        noted = await super().note(send, name, run_id, new_mark)
        if not self.is_lost:
            self.is_lost = True
            raise ConnectionLost("by the test")
        return noted


async def test_a_list_whose_answer_was_lost_has_passed_over_a_server_all_the_same(address: Path) -> None:
    async with node(address) as before:
        await fill(before)
    async with node(address, 1, listed=_Unanswered(3, [NAME], lambda _: NAME, let_go_ms=1)) as after:
        async with asyncio.timeout(60):
            while not await server_of(after).regained():
                pass
        assert await residency(after) is Residency.ABSENT


async def test_all_nodes_of_a_new_list_wait_until_those_of_the_former_one_have_let_go(
    processes: list[RedisProcess], address: Path
) -> None:
    async with node(address) as old:
        send = server_of(old).link.call
        first, second = [
            await ServerList(2, [NAME], lambda _: NAME, 60_000).note(send, NAME, "1", "0") for _ in range(2)
        ]
        assert 0 < second.wait_ms <= first.wait_ms <= 60_000

    with redis.Redis(unix_socket_path=processes[0].path) as admin:
        admin.pexpire("cqs:servers:new", 50)
        async with node(address, 1, version=2):
            assert not admin.exists("cqs:servers:new")


async def test_nodes_of_the_first_list_wait_for_nobody(address: Path) -> None:
    async with node(address) as first:
        noted = await ServerList(1, [NAME], lambda _: NAME).note(server_of(first).link.call, NAME, "1", "0")
        assert noted.wait_ms == 0


@pytest.mark.parametrize("version", [1, 2])
async def test_a_full_server_is_looked_after_and_serves(
    processes: list[RedisProcess], address: Path, version: int
) -> None:
    async with node(address) as cache:
        await fill(cache)
    with redis.Redis(unix_socket_path=processes[0].path) as admin:
        admin.config_set("maxmemory", 1)

    async with node(address, 1, version) as cache:
        await server_of(cache)._keep_list("1")
        await reconnect(cache)

        assert await residency(cache) is Residency.READY
        assert cache.servers.in_trouble() == 1
