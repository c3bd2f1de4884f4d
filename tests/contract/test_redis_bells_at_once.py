"""Receives wait on several nodes while concurrent calls make messages visible: one receive wakes per message, through a
real Redis."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator

import pytest

from cqs.cache.interface import Ticket
from cqs.cache.redis import cache as cache_module
from cqs.message import Message
from cqs.queue import Queue
from cqs.service import queues, repair, revisibility
from cqs.service.deliver import Delivery
from cqs.service.engine import shard_of
from cqs.service.receive import ReceiveRequest, receive
from cqs.service.send import Draft, send_batch
from tests.needs import needs
from tests.nodes import PATIENCE_S, WAIT_MS, Node, ended, nodes_on
from tests.redis_server import RedisProcess

pytestmark = needs("redis-server")


@pytest.fixture
async def three(own: RedisProcess) -> AsyncIterator[list[Node]]:
    async with nodes_on(own, count=3) as nodes:
        yield nodes


async def stored(node: Node, queue: Queue, body: str) -> Message:
    """Adds a message to the store only, not to the cache."""
    message = Message(
        address=node.engine.addresses.next(node.engine.store.rows),
        body=body,
        sent_ms=node.clock.now_ms(),
        sender_id="s",
    )
    await node.engine.store.append(queue, [message])
    return message


async def test_sends_at_once_through_one_node_wake_receives_of_others(three: list[Node]) -> None:
    a, b, _ = three
    queue = await a.create("orders", *three)
    polls = [await a.poll(queue), *[await b.poll(queue) for _ in range(4)]]
    bodies = ["five", "four", "one", "three", "two"]

    await asyncio.gather(*(a.send(queue, body) for body in bodies))

    assert sorted(await ended(*polls)) == bodies


@pytest.mark.parametrize("seed", range(5))
async def test_as_many_as_messages_are_woken_whichever_nodes_do_what_at_once(three: list[Node], seed: int) -> None:
    rng = random.Random(seed)
    queue = await three[0].create("orders", *three)
    for _ in range(20):
        count = rng.randint(2, 6)
        bodies = [str(number) for number in range(count)]
        polls = [await rng.choice(three).poll(queue) for _ in range(rng.randint(0, count))]
        calls = [rng.choice(three).send(queue, body) for body in bodies]
        calls += [waiting(rng.choice(three), queue, polls) for _ in range(count - len(polls))]
        rng.shuffle(calls)

        await asyncio.gather(*calls)

        assert sorted(await ended(*polls)) == bodies


async def waiting(node: Node, queue: Queue, polls: list[asyncio.Task[list[Delivery]]]) -> None:
    """Adds a receive that has not looked for messages yet."""
    request = ReceiveRequest(1, wait_ms=WAIT_MS)
    polls.append(asyncio.create_task(receive(node.engine, queue, request, lambda: True)))


async def test_a_change_that_frees_nothing_keeps_no_wake_up_from_a_receive(three: list[Node]) -> None:
    a, b, _ = three
    queue = await a.create("orders", *three)
    poll = await a.poll(queue)

    await asyncio.gather(a.cache.hide(shard_of(queue), Ticket(1, 1), 0), b.send(queue, "one"))

    assert await ended(poll) == ["one"]


async def test_a_receive_that_hides_nothing_leaves_the_message_to_others_that_wait(three: list[Node]) -> None:
    a, b, _ = three
    queue = await a.create("orders", *three)
    looked = a.cache.looked = asyncio.Event()
    request = ReceiveRequest(1, visibility_ms=0, wait_ms=WAIT_MS)
    glance = asyncio.create_task(receive(a.engine, queue, request, lambda: True))
    await looked.wait()
    polls = [await b.poll(queue), await a.poll(queue)]

    await a.send(queue, "one")
    assert await ended(glance) == ["one"]
    await a.send(queue, "two")

    assert sorted(await ended(*polls)) == ["one", "two"]


async def test_a_purged_queues_receives_hear_of_what_other_nodes_are_sent(three: list[Node]) -> None:
    a, b, _ = three
    queue = await a.create("orders", *three)
    poll = await a.poll(queue)
    a.cache.looked = looked = asyncio.Event()

    await queues.purge(a.engine, queue)
    purged = a.engine.registry.find(queue.key)
    b.engine.registry.put(purged)
    async with asyncio.timeout(PATIENCE_S):
        await looked.wait()
    await b.send(purged, "one")

    assert await ended(poll) == ["one"]


async def test_what_a_node_makes_true_for_another_wakes_its_own_receives(three: list[Node]) -> None:
    a, b, _ = three
    queue = await a.create("orders", *three)
    poll = await b.poll(queue)
    message = await stored(a, queue, "one")

    await repair.make_true(b.engine, queue, [message.address])

    assert await ended(poll) == ["one"]


async def test_as_many_are_woken_as_become_ready_in_several_pages(
    three: list[Node], monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b, _ = three
    monkeypatch.setattr(cache_module, "FIFO_MAX", 2)
    queue = await a.create("orders.fifo", *three, delay_ms=1_000)
    bodies = ["five", "four", "one", "six", "three", "two"]
    drafts = [Draft(body, group=body, dedup_id=body) for body in bodies]
    await send_batch(a.engine, queue, drafts, "sender")
    polls = [await node.poll(queue) for node in (a, a, b, b, b, b)]
    a.clock.advance_ms(1_000)

    await revisibility.step(a.engine)

    assert sorted(await ended(*polls)) == bodies
