"""`/jmx`: beans under the names of the CQS paper and of the first CQS, and as jmx_exporter would write them."""

from __future__ import annotations

from cqs.queue import QueueName
from cqs.service import queues
from tests.protocol.measured import measured


async def test_bean_of_a_queue_has_what_the_paper_lists() -> None:
    async with measured() as node:
        await node.bench.send(node.world.standard, "one", "two", "three")
        await node.bench.receive(node.world.standard, count_max=1)
        node.bench.clock.advance_ms(2_000)
        await node.sample()

        bean = (await node.beans())["cqs:type=Queue,name=orders"]

    assert bean["CacheHitRatio"] == 1.0
    assert bean["MessagesInQueue"] == 3
    assert bean["OldestMessageAge"] == 2.0
    assert bean["HiddenMessages"] == 1


async def test_bean_of_a_queue_has_the_names_of_the_first_cqs() -> None:
    async with measured() as node:
        queue = node.world.standard
        await node.bench.send(queue, "one", "two")
        sent_ms = node.bench.clock.now_ms()
        deliveries = await node.bench.receive(queue, count_max=1)
        url = "http://a/000000000000/orders"
        await node.world.json("DeleteMessage", QueueUrl=url, ReceiptHandle=deliveries[0].handle)
        await node.world.json("ReceiveMessage", QueueUrl="http://a/000000000000/orders.fifo")
        await node.sample()

        beans = await node.beans()

    bean = beans["cqs:type=Queue,name=orders"]
    assert (bean["RecentNumberOfSends"], bean["RecentNumberOfReceives"], bean["NumberOfMessagesDeleted"]) == (2, 1, 1)
    assert (bean["QueueDepth"], bean["OldestAvailableMessageTS"]) == (1, sent_ms)
    assert bean["NumberOfLongPollReceivesForQueue"] == 0
    assert beans["cqs:type=Queue,name=orders.fifo"]["RecentNumberOfEmptyReceives"] == 1


async def test_window_is_ten_minutes_long() -> None:
    async with measured() as node:
        await node.bench.send(node.world.standard, "one")
        await node.sample()
        node.bench.clock.advance_ms(600_000)
        await node.sample()

        bean = (await node.beans())["cqs:type=Queue,name=orders"]

    assert (bean["RecentNumberOfSends"], bean["QueueDepth"]) == (0, 1)


async def test_bean_of_the_node_counts_calls_and_failures_by_action() -> None:
    async with measured() as node:
        await node.world.json("SendMessage", QueueUrl="http://a/000000000000/orders", MessageBody="x")
        await node.world.json("SendMessage", QueueUrl="http://a/000000000000/none", MessageBody="x")

        bean = (await node.beans())["cqs:type=Node"]

    assert bean["CallStats"] == {"SendMessage": 2}
    assert bean["CallFailureStats"] == {"SendMessage": 1}
    assert (bean["NumberOfLongPollReceives"], bean["NumberOfDeadLongPollReceives"]) == (0, 0)


async def test_queue_of_another_account_says_whose_it_is() -> None:
    async with measured() as node:
        await queues.create(node.bench.engine, QueueName("111122223333", "orders"), {}, {})
        await node.sample()

        assert "cqs:type=Queue,name=orders,account=111122223333" in await node.beans()


async def test_beans_are_chosen_by_name() -> None:
    async with measured() as node:
        await node.sample()

        assert list(await node.beans("?qry=cqs:type=Queue,*")) == [
            "cqs:type=Queue,name=orders",
            "cqs:type=Queue,name=orders.fifo",
        ]
        assert list(await node.beans("?qry=cqs:type=Node")) == ["cqs:type=Node"]
        assert await node.beans("?qry=java.lang:*") == {}


async def test_numbers_have_the_names_that_jmx_exporter_gives_them() -> None:
    async with measured() as node:
        await node.bench.send(node.world.standard, "one")
        await node.world.json("ListQueues")
        await node.sample()

        told = await node.scrape("/jmx?format=prometheus")
        lower = await node.scrape("/jmx?format=prometheus&lowercase=true")

    assert told['cqs_Queue_MessagesInQueue{name="orders"}'] == 1
    assert told["cqs_Node_CallStats_ListQueues"] == 1
    assert told["cqs_Node_CacheHitRatio"] == 1
    assert lower['cqs_queue_messagesinqueue{name="orders"}'] == 1
