"""The overview: problems are described at the top, and figures come from samples."""

from __future__ import annotations

from admin.console import About
from cqs.errors import CacheUnavailable, StoreUnavailable
from cqs.metrics.declarations import CACHE_TROUBLE
from cqs.queue import Redrive
from cqs.service import queues
from cqs.service.engine import shard_of
from cqs.service.statistics import Sampler
from cqs.store.coordination import Node
from tests.console.desk import Desk, make_desk
from tests.engine import ACCOUNT


async def words(desk: Desk) -> str:
    await Sampler(desk.bench.engine).sample()
    return (await desk.get("/")).words


async def test_nothing_needs_attention_when_all_is_well(desk: Desk) -> None:
    assert "Nothing needs attention." in await words(desk)
    assert "There is no queue yet." in await words(desk)


async def test_dead_letters_are_told_with_their_age(desk: Desk) -> None:
    dead = await desk.bench.create("dead")
    await desk.bench.create("orders", redrive=Redrive(dead.arn, 3))
    await desk.bench.send(dead, "one", "two")
    desk.bench.clock.advance_ms(7_200_000)

    assert "dead: 2 dead letters, the oldest 2 h old. Handle them" in await words(desk)


async def test_messages_about_to_be_lost_come_first(desk: Desk) -> None:
    dead = await desk.bench.create("dead")
    await desk.bench.create("source", redrive=Redrive(dead.arn, 3))
    queue = await desk.bench.create("orders", retention_ms=3_600_000)
    await desk.bench.send(dead, "one")
    await desk.bench.send(queue, "one")
    desk.bench.clock.advance_ms(3_000_000)

    told = await words(desk)

    assert told.index("orders: its oldest message expires in 10 min") < told.index("dead: 1 dead letter")


async def test_a_queue_that_nobody_reads_is_told(desk: Desk) -> None:
    queue = await desk.bench.create("orders")
    desk.bench.engine.metrics.queues.meet(queue).sent += 3
    await desk.bench.send(queue, "one")
    await words(desk)
    desk.bench.clock.advance_ms(1_200_000)

    assert "orders: nobody has received from it in the last ten minutes, and 1 message waits." in await words(desk)


async def test_a_missing_dead_letter_queue_is_told(desk: Desk) -> None:
    dead = await desk.bench.create("dead")
    await desk.bench.create("orders", redrive=Redrive(dead.arn, 3))
    await queues.delete(desk.bench.engine, dead)

    assert "orders: its dead-letter queue is gone" in await words(desk)


async def test_a_store_that_does_not_answer_is_told_first(desk: Desk) -> None:
    desk.bench.store.fail("highest_address", StoreUnavailable("disk gone"), times=10)

    told = await words(desk)

    assert "The store does not answer: disk gone" in told
    assert "unhealthy" in told


async def test_calls_that_fail_are_told(desk: Desk) -> None:
    await words(desk)
    for _ in range(20):
        desk.bench.engine.metrics.calls.record("SendMessage", "InternalError", 1)
    desk.bench.clock.advance_ms(5_000)

    assert "100 % of the calls in the last minute failed (20)." in await words(desk)


async def test_what_a_silent_cache_hides_is_said_to_be_unknown(desk: Desk) -> None:
    queue = await desk.bench.create("orders")
    await desk.bench.send(queue, "one")
    await words(desk)
    for name in ("survey", "state", "peek", "next_vesting_ms"):
        desk.bench.cache.fail(name, CacheUnavailable("no route"), times=1_000)
    desk.bench.clock.advance_ms(5_000)

    sure = "/queues/sure?do=delete&chosen=orders"
    pages = {path: (await desk.get(path)).words for path in ("/", "/queues", f"/q/{ACCOUNT}/orders", sure)}

    assert "The cache does not answer: no route" in pages["/"]
    assert "Unknown: the cache does not answer" in pages["/queues"]
    assert "Counts are unknown; messages are safe in the store." in pages[f"/q/{ACCOUNT}/orders"]
    assert "with an unknown number of messages" in pages[sure]
    assert (await desk.get(f"/q/{ACCOUNT}/orders/messages")).status == 503


async def test_a_silent_cache_does_not_look_like_a_queue_without_dead_letters(desk: Desk) -> None:
    dead = await desk.bench.create("dead")
    await desk.bench.create("orders", redrive=Redrive(dead.arn, 3))
    await desk.bench.send(dead, "one")
    desk.bench.cache.fail("peek", CacheUnavailable("no route"), times=1_000)

    for path in ("dead-letters", "dead-letters.csv"):
        seen = await desk.get(f"/q/{ACCOUNT}/dead/{path}")
        assert seen.status == 503
        assert "no route" in seen.words


async def test_what_the_cache_has_lost_is_said_to_be_unknown_until_it_is_filled(desk: Desk) -> None:
    queue = await desk.bench.create("orders")
    await desk.bench.send(queue, "one", "two")
    paths = ("/queues", f"/q/{ACCOUNT}/orders", "/queues/sure?do=delete&chosen=orders")

    told = []
    for path in paths:
        await desk.bench.cache.drop(shard_of(queue))
        told.append((await desk.get(path)).words)
        await desk.bench.engine.background.drain()
    filled = (await desk.get(paths[-1])).words

    assert "orders not in the cache Standard Unknown" in told[0]
    assert "This queue is not in the cache. Counts are unknown until it is loaded" in told[1]
    assert "with an unknown number of messages" in told[2]
    assert "with 2 messages" in filled


async def test_figures_are_of_what_was_sampled(desk: Desk) -> None:
    queue = await desk.bench.create("orders")
    await desk.bench.send(queue, "one", "two", "three")
    await desk.bench.receive(queue, 1)

    told = await words(desk)

    assert "Ready 2 In flight 1 Delayed 0" in told
    assert "Fullest queues" in told
    assert "orders 2 1" in told


async def test_the_health_of_store_and_cache_is_asked_seldom(desk: Desk) -> None:
    asked = 0

    async def counted() -> int:
        nonlocal asked
        asked += 1
        return 0

    desk.bench.store.highest_address = counted  # type: ignore[method-assign]
    for _ in range(5):
        await desk.get("/")

    assert asked == 1


async def test_whoever_has_no_queue_yet_is_shown_how_to_make_one(desk: Desk) -> None:
    page = await desk.get("/")

    assert "Welcome to CQS" in page.words
    assert "Create a queue" in page.words
    for command in ("cqs create", "aws --endpoint-url", "sqs.create_queue(", "AmazonSQS.CreateQueue"):
        assert command in page.words
    await desk.bench.create("hello")
    assert "Welcome to CQS" not in (await desk.get("/")).words


async def test_what_the_node_stands_on_is_told_when_it_is_in_trouble() -> None:
    async def nodes() -> list[Node]:
        return [
            Node(name="api-1", started_ms=1, beat_ms=1),
            Node(name="api-2", started_ms=1, beat_ms=1, lost=("10.0.0.2:6379", "10.0.0.3:6379")),
        ]

    desk = await make_desk(about=About(nodes=nodes))
    desk.bench.engine.metrics.watch(CACHE_TROUBLE, lambda: 2)
    told = await words(desk)
    desk.bench.engine.metrics.watch(CACHE_TROUBLE, lambda: 1)
    of_one = await words(desk)
    await desk.client.close()

    assert "2 cache servers are unhealthy: the store answers for their queues, more slowly." in told
    assert "Node api-2 can't reach 10.0.0.2:6379, 10.0.0.3:6379." in told
    assert "Store and cache unhealthy Nodes 2" in told
    assert "1 cache server is unhealthy" in of_one


async def test_parts_that_are_well_are_not_told_of(desk: Desk) -> None:
    desk.bench.engine.metrics.watch(CACHE_TROUBLE, lambda: 0)

    told = await words(desk)

    assert "Nothing needs attention." in told
    assert "Store and cache healthy" in told
    assert "Store and cache healthy Nodes" not in told
