"""Changes of Redis that nodes must detect by their periodic checks alone, with two nodes on real servers: Redis is
lost, flushed, restored from a copy, made a replica, set to evict, full, or unresponsive."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from pathlib import Path

import pytest

from cqs.cache.interface import Residency
from cqs.cache.redis.server import RedisServer
from cqs.errors import CacheUnavailable
from cqs.queue import Queue
from cqs.service import delete
from cqs.service.engine import shard_of
from tests.contract.redis_world import admin_of
from tests.needs import needs
from tests.nodes import Node, nodes_on
from tests.redis_server import RedisProcess

pytestmark = needs("redis-server")
PATIENCE_S = 90


@pytest.fixture
async def two(own: RedisProcess) -> AsyncIterator[list[Node]]:
    async with nodes_on(own, count=2) as nodes:
        yield nodes


def server_of(node: Node, queue: Queue) -> RedisServer:
    server = node.cache.servers.of(shard_of(queue))
    assert isinstance(server, RedisServer)
    return server


async def eventually(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0)


async def told(node: Node, queue: Queue, words: str) -> None:
    """Waits until the node's own periodic checks detect it, without any calls."""
    server = server_of(node, queue)
    await eventually(lambda: words in server.trouble)


async def in_order(node: Node, queue: Queue) -> None:
    server = server_of(node, queue)
    await eventually(lambda: not server.trouble)


async def drained(queue: Queue, *nodes: Node) -> list[str]:
    """Receives and deletes on the nodes in turn until the queue is served by the cache and empty. Returns all
    bodies."""
    bodies: list[str] = []
    async with asyncio.timeout(PATIENCE_S):
        while True:
            count = len(bodies)
            for node in nodes:
                await node.engine.background.drain()
                await node.repair()
                for delivery in await node.receive(queue):
                    bodies.append(delivery.message.body)
                    await delete.delete(node.engine, queue, delivery.handle)
            with suppress(CacheUnavailable):
                state = await nodes[0].cache.state(shard_of(queue))
                if count == len(bodies) and state.residency is Residency.READY:
                    return sorted(bodies)
            await asyncio.sleep(0)


class TestLostContents:
    """No acknowledged message is lost, no deleted one reappears, none in flight is delivered again."""

    @pytest.fixture
    async def used(self, two: list[Node], own: RedisProcess) -> Queue:
        """Four messages, of which one is in flight and one deleted; a copy of Redis was taken before that."""
        a, b = two
        queue = await a.create("orders", *two)
        await a.send(queue, "one", "two", "three", "four")
        with admin_of(own) as admin:
            admin.save()
        (gone,) = await a.receive(queue, 1)
        await delete.delete(a.engine, queue, gone.handle)
        (held,) = await b.receive(queue, 1)
        assert (gone.message.body, held.message.body) == ("one", "two")
        return queue

    async def test_restarted_empty(self, two: list[Node], own: RedisProcess, used: Queue) -> None:
        own.stop()
        (Path(own.folder) / "dump.rdb").unlink()
        own.start()

        assert await drained(used, *two) == ["four", "three"]

    async def test_flushed(self, two: list[Node], own: RedisProcess, used: Queue) -> None:
        with admin_of(own) as admin:
            admin.flushall()

        assert await drained(used, *two) == ["four", "three"]

    async def test_replaced_by_a_stale_copy(self, two: list[Node], own: RedisProcess, used: Queue) -> None:
        own.stop()
        own.start()
        with admin_of(own) as admin:
            assert admin.exists(*admin.keys("cqs:{*}:meta"))

        assert await drained(used, *two) == ["four", "three"]

    async def test_replaced_by_a_copy_on_another_server(
        self, two: list[Node], own: RedisProcess, used: Queue, tmp_path: Path
    ) -> None:
        shutil.copy(Path(own.folder) / "dump.rdb", tmp_path / "dump.rdb")
        own.stop()
        with RedisProcess(folder=tmp_path) as other:
            os.symlink(other.path, own.path)

            assert await drained(used, *two) == ["four", "three"]


class TestUnfit:
    async def test_replica_is_given_up_until_it_is_a_master_again(self, two: list[Node], own: RedisProcess) -> None:
        a, b = two
        queue = await a.create("orders", *two)
        await a.send(queue, "one")
        with admin_of(own) as admin:
            admin.execute_command("REPLICAOF", "127.0.0.1", "1")

            await told(a, queue, "is a replica")
            await told(b, queue, "is a replica")
            await a.send(queue, "two")
            from_store = [one.message.body for one in await b.receive(queue)]
            admin.execute_command("REPLICAOF", "NO", "ONE")

        assert sorted(from_store) == ["one", "two"]
        await in_order(a, queue)
        await in_order(b, queue)
        for node in (a, b):
            await node.repair()
        await a.send(queue, "three")
        assert await drained(queue, a, b) == ["three"]

    async def test_server_that_begins_to_evict_is_given_up(self, two: list[Node], own: RedisProcess) -> None:
        a, _ = two
        queue = await a.create("orders", *two)
        with admin_of(own) as admin:
            admin.config_set("maxmemory", 1 << 30)
            admin.config_set("maxmemory-policy", "allkeys-lru")

            await told(a, queue, "allkeys-lru")
            await a.send(queue, "one")
            admin.config_set("maxmemory-policy", "noeviction")

        await in_order(a, queue)
        assert await drained(queue, a) == ["one"]

    async def test_server_that_wants_another_password_is_told_with_its_reason_alone(
        self, two: list[Node], own: RedisProcess
    ) -> None:
        a, _ = two
        queue = await a.create("orders", *two)
        with admin_of(own) as admin:
            admin.config_set("requirepass", "new")
            admin.client_kill_filter(_type="normal", skipme=True)

            await told(a, queue, "it requires a password")
            problems = (await server_of(a, queue).report()).problems
            admin.config_set("requirepass", "")

        assert problems == ("it requires a password and none is given",)
        await in_order(a, queue)

    async def test_server_that_turns_persistent_is_used_on(self, two: list[Node], own: RedisProcess) -> None:
        a, b = two
        queue = await a.create("orders", *two)
        with admin_of(own) as admin:
            admin.config_set("save", "1 1")
            admin.config_set("appendonly", "yes")
        await a.send(queue, "one")

        own.stop()
        own.start()

        assert await drained(queue, a, b) == ["one"]


class TestFull:
    async def test_sends_go_on_in_the_store_and_nothing_is_evicted(self, two: list[Node], own: RedisProcess) -> None:
        a, b = two
        queue = await a.create("orders", *two)
        await a.send(queue, "kept")
        with admin_of(own) as admin:
            admin.config_set("maxmemory", 1)

            await a.send(queue, "one", "two")
            await told(a, queue, "it is full")
            assert a.cache.servers.in_trouble() == 1
            await told(b, queue, "it is full")
            kept = [one.message.body for one in await b.receive(queue)]
            stored = [one.message.body for one in await a.receive(queue)]
            evicted = admin.info("stats")["evicted_keys"]
            admin.config_set("maxmemory", 0)

        assert (kept, sorted(stored), evicted) == (["kept"], ["one", "two"], 0)
        await in_order(a, queue)
        await a.repair()
        counts = await a.cache.counts(shard_of(queue))
        assert counts.ready + counts.in_flight == 3


class TestSilence:
    async def test_silent_server_costs_its_own_queues_one_time_out_and_others_nothing(self, own: RedisProcess) -> None:
        with RedisProcess() as other:
            async with nodes_on(own, other, count=1, timeout_s=2.0) as (node,):
                queues = [await node.create(f"queue-{number}", node) for number in range(20)]
                silent = next(queue for queue in queues if server_of(node, queue).address.path == own.path)
                living = next(queue for queue in queues if server_of(node, queue).address.path == other.path)
                os.kill(own.pid, signal.SIGSTOP)
                try:
                    await asyncio.gather(*(node.send(silent, f"{number}") for number in range(200)))
                    await told(node, silent, "no answer")
                    await node.send(living, "fast")
                    assert [one.message.body for one in await node.receive(living)] == ["fast"]
                    assert not server_of(node, living).trouble
                    (held,) = await node.receive(silent, 1)
                    await delete.delete(node.engine, silent, held.handle)
                finally:
                    os.kill(own.pid, signal.SIGCONT)

                expected = {str(number) for number in range(200)} - {held.message.body}
                await in_order(node, silent)
                assert set(await drained(silent, node)) == expected
                assert not len(node.engine.dirt)
