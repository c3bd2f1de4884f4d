"""A receive that waits on one node is woken by calls on another, through a real Redis."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
import redis

from cqs.cache.redis import keys
from cqs.errors import QueueDoesNotExist
from cqs.service import delete, queues, revisibility, visibility
from cqs.service.engine import shard_of
from cqs.service.receive import give_back
from tests.needs import needs
from tests.nodes import Node, ended, first_of, nodes_on
from tests.redis_server import RedisProcess

pytestmark = needs("redis-server")


@pytest.fixture
async def three(own: RedisProcess) -> AsyncIterator[list[Node]]:
    async with nodes_on(own, count=3) as nodes:
        yield nodes


def admin_of(process: RedisProcess) -> redis.Redis:
    return redis.Redis(unix_socket_path=process.path)


def publishes(process: RedisProcess) -> int:
    """Returns how many notifications the scripts have published so far."""
    with admin_of(process) as admin:
        stats = admin.info("commandstats")
        assert isinstance(stats, dict)
        return int(stats.get("cmdstat_publish", {}).get("calls", 0))


class TestWhatWakes:
    async def test_send(self, three: list[Node]) -> None:
        a, b, _ = three
        queue = await a.create("orders", *three)
        poll = await b.poll(queue)

        await a.send(queue, "one")

        assert await ended(poll) == ["one"]

    async def test_visibility_that_ran_out(self, three: list[Node]) -> None:
        a, b, _ = three
        queue = await a.create("orders", *three, visibility_ms=5_000)
        await a.send(queue, "one")
        await a.receive(queue)
        poll = await b.poll(queue)

        a.clock.advance_ms(5_000)
        await revisibility.step(a.engine)

        assert await ended(poll) == ["one"]

    async def test_visibility_set_to_zero(self, three: list[Node]) -> None:
        a, b, _ = three
        queue = await a.create("orders", *three)
        await a.send(queue, "one")
        (delivery,) = await a.receive(queue)
        poll = await b.poll(queue)

        await visibility.change(a.engine, queue, delivery.handle, 0)

        assert await ended(poll) == ["one"]

    async def test_answer_that_reached_nobody(self, three: list[Node]) -> None:
        a, b, _ = three
        queue = await a.create("orders", *three)
        await a.send(queue, "one")
        deliveries = await a.receive(queue)
        poll = await b.poll(queue)

        await give_back(a.engine, queue, deliveries)

        assert await ended(poll) == ["one"]

    async def test_freed_group(self, three: list[Node]) -> None:
        a, b, _ = three
        queue = await a.create("orders.fifo", *three)
        await a.send(queue, "one", "two")
        (delivery,) = await a.receive(queue, 1)
        poll = await b.poll(queue)

        await delete.delete(a.engine, queue, delivery.handle)

        assert await ended(poll) == ["two"]

    async def test_deleted_queue_ends_receives_on_every_node(self, three: list[Node]) -> None:
        a, b, c = three
        queue = await a.create("orders", *three)
        polls = [await b.poll(queue), await c.poll(queue)]

        await queues.delete(a.engine, queue)

        for poll in polls:
            with pytest.raises(QueueDoesNotExist):
                await ended(poll)


class TestHowManyAreWoken:
    async def test_one_message_is_looked_for_once(self, three: list[Node]) -> None:
        a, b, c = three
        queue = await a.create("orders", *three)
        polls = [await b.poll(queue), await c.poll(queue)]
        looks = b.cache.looks + c.cache.looks

        await a.send(queue, "one")
        (left,) = await first_of(*polls)

        assert b.cache.looks + c.cache.looks == looks + 1
        await a.send(queue, "two")
        assert await ended(left) == ["two"]

    async def test_own_receives_come_first_and_others_hear_nothing(self, three: list[Node], own: RedisProcess) -> None:
        a, b, _ = three
        queue = await a.create("orders", *three)
        theirs = await b.poll(queue)
        ours = await a.poll(queue)
        before = publishes(own)

        await a.send(queue, "one")

        assert await ended(ours) == ["one"]
        assert publishes(own) == before
        await a.send(queue, "two")
        assert await ended(theirs) == ["two"]

    async def test_as_many_as_messages_over_all_nodes(self, three: list[Node]) -> None:
        a, b, c = three
        queue = await a.create("orders", *three)
        polls = [
            await a.poll(queue),
            *[await b.poll(queue) for _ in range(2)],
            *[await c.poll(queue) for _ in range(3)],
        ]

        await a.send(queue, "one", "two", "three", "four", "five", "six")

        assert sorted(await ended(*polls)) == ["five", "four", "one", "six", "three", "two"]

    async def test_lost_client_passes_its_wake_up_on(self, three: list[Node]) -> None:
        a, b, c = three
        queue = await a.create("orders", *three)
        lost, other = await b.poll(queue), await c.poll(queue)

        lost.cancel()
        await asyncio.gather(lost, return_exceptions=True)
        await a.send(queue, "one")

        assert await ended(other) == ["one"]

    async def test_dead_node_is_passed_over_and_forgotten(self, three: list[Node], own: RedisProcess) -> None:
        a, b, c = three
        queue = await a.create("orders", *three)
        await b.poll(queue)
        poll = await c.poll(queue)
        await b.bells.close()
        with admin_of(own) as admin:
            while dict(admin.pubsub_numsub(keys.WAKE + b.cache.servers.node))[keys.WAKE + b.cache.servers.node]:  # noqa: ASYNC110
                await asyncio.sleep(0)

        await a.send(queue, "one")

        assert await ended(poll) == ["one"]
        with admin_of(own) as admin:
            assert not admin.exists(keys.state_key(shard_of(queue)).replace(b"state", b"ears"))


class TestCost:
    async def test_nobody_else_waits_nothing_is_published(self, own: RedisProcess) -> None:
        async with nodes_on(own, count=1) as (only,):
            queue = await only.create("orders", only)
            before = publishes(own)
            for body in ("one", "two"):
                poll = await only.poll(queue)
                await only.send(queue, body)
                assert await ended(poll) == [body]

            await only.send(queue, "three")

            assert publishes(own) == before

    async def test_node_is_noted_although_redis_is_full(self, three: list[Node], own: RedisProcess) -> None:
        a, b, _ = three
        queue = await a.create("orders", *three)
        await a.send(queue, "one")
        (delivery,) = await a.receive(queue)
        with admin_of(own) as admin:
            admin.config_set("maxmemory", 1)

        poll = await b.poll(queue)
        await visibility.change(a.engine, queue, delivery.handle, 0)

        assert await ended(poll) == ["one"]
        assert not b.witness.of("received_from_store")


class TestLosses:
    async def test_receives_of_an_earlier_life_hear_of_a_fill(self, three: list[Node], own: RedisProcess) -> None:
        a, b, _ = three
        queue = await a.create("orders", *three)
        poll = await b.poll(queue)
        with admin_of(own) as admin:
            admin.flushall()

        await a.send(queue, "one")

        assert await ended(poll) == ["one"]

    async def test_subscription_that_is_lost_is_made_good_by_looking(
        self, three: list[Node], own: RedisProcess
    ) -> None:
        a, b, _ = three
        queue = await a.create("orders", *three)
        with admin_of(own) as admin:
            admin.acl_setuser("default", enabled=True, nopass=True, commands=["+@all"], keys=["*"], reset_channels=True)
            poll = await b.poll(queue)
            admin.client_kill_filter(_type="pubsub")

        await a.send(queue, "one")

        assert await ended(poll) == ["one"]
        assert not b.bells.is_heard(shard_of(queue))

    async def test_subscription_comes_back_after_a_restart(self, three: list[Node], own: RedisProcess) -> None:
        a, b, _ = three
        queue = await a.create("orders", *three)
        poll = await b.poll(queue)
        own.stop()
        own.start()

        await a.send(queue, "one")
        await a.repair()

        assert await ended(poll) == ["one"]
