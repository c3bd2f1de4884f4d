"""FIFO queues on a full Redis: they can't be served from the store, but must still make progress."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
import redis

from cqs.errors import ServiceUnavailable
from cqs.service import repair
from cqs.service.engine import shard_of
from tests.needs import needs
from tests.nodes import PATIENCE_S, nodes_on
from tests.redis_server import RedisProcess

pytestmark = needs("redis-server")
BODY_BYTES = 200_000
BALLAST_BYTES = 16 << 20
"""So large that the memory of a connection is negligible."""


@pytest.fixture
def own() -> Iterator[RedisProcess]:
    with RedisProcess() as process:
        yield process


async def test_it_makes_room_for_what_a_full_redis_refused_and_hands_all_out_in_order(own: RedisProcess) -> None:
    async with nodes_on(own, count=1) as (node,):
        queue = await node.create("orders.fifo")
        bodies = [f"{number}".ljust(BODY_BYTES) for number in range(10)]
        for body in bodies[:9]:
            await node.send(queue, body)
        with redis.Redis(unix_socket_path=own.path) as admin:
            admin.config_set("maxmemory", admin.info("memory")["used_memory"] - BODY_BYTES)
        await node.send(queue, bodies[9])

        got: list[str] = []
        async with asyncio.timeout(PATIENCE_S):
            while len(got) < len(bodies):
                await repair.step(node.engine)
                got += [delivery.message.body for delivery in await node.receive(queue)]
                await node.engine.background.drain()

        assert got == bodies


async def test_it_takes_nothing_while_its_redis_has_hardly_any_room(own: RedisProcess) -> None:
    async with nodes_on(own, count=1) as (node,):
        queue, standard = await node.create("orders.fifo"), await node.create("orders")
        with redis.Redis(unix_socket_path=own.path) as admin:
            admin.setrange("ballast", BALLAST_BYTES - 1, "x")
            admin.config_set("maxmemory", int(admin.info("memory")["used_memory"] / 0.99))
        server = node.cache.server_of(shard_of(queue))
        await server.report()

        with pytest.raises(ServiceUnavailable, match="is full"):
            await node.send(queue, "one")
        await node.send(standard, "one")
        with redis.Redis(unix_socket_path=own.path) as admin:
            admin.config_set("maxmemory", 0)
        await server.report()
        await node.send(queue, "two")

        assert [delivery.message.body for delivery in await node.receive(queue)] == ["two"]


async def test_it_takes_messages_when_the_redis_that_was_full_is_gone(own: RedisProcess) -> None:
    async with nodes_on(own, count=1, look_s=1_000) as (node,):
        queue = await node.create("orders.fifo")
        with redis.Redis(unix_socket_path=own.path) as admin:
            admin.config_set("maxmemory", 1)
        server = node.cache.server_of(shard_of(queue))
        await server.report()
        assert server.is_short
        own.stop()
        async with asyncio.timeout(PATIENCE_S):
            while server.is_reached:  # noqa: ASYNC110 nobody is told
                await asyncio.sleep(0)

        await node.send(queue, "one")

        assert not server.is_short
