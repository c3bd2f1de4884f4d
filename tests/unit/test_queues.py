"""Creating queues: names, types, comparison with an existing queue, dead-letter queues, the wait after a deletion."""

from __future__ import annotations

import asyncio

import pytest

from cqs.cache.interface import Residency
from cqs.errors import (
    CacheUnavailable,
    InvalidAttributeName,
    InvalidAttributeValue,
    InvalidParameterValue,
    QueueDeletedRecently,
    QueueNameExists,
    StoreUnavailable,
)
from cqs.queue import DedupScope, Queue, QueueName, Redrive, RedriveAllow, RedrivePermission, ThroughputLimit
from cqs.service import queues
from cqs.service.engine import Tuning, shard_of
from tests.engine import ACCOUNT, Bench, make_bench

FIFO = {"is_fifo": True}


async def create(bench: Bench, name: str, **changes: object) -> Queue:
    return await queues.create(bench.engine, QueueName(ACCOUNT, name), changes, {})


def arn(name: str, account: str = ACCOUNT, region: str = "us-east-1") -> str:
    return f"arn:aws:sqs:{region}:{account}:{name}"


async def test_created_queue_is_known_stored_and_ready() -> None:
    bench = await make_bench()

    queue = await create(bench, "orders", visibility_ms=5_000)

    assert queue.settings.visibility_ms == 5_000
    assert queue.created_ms == queue.modified_ms == bench.clock.now_ms()
    assert queue.arn == arn("orders")
    assert bench.engine.registry.find(queue.key) == queue
    assert await bench.store.find(queue.key) == queue
    assert (await bench.cache.state(shard_of(queue))).residency is Residency.READY


@pytest.mark.parametrize("name", ["a", "A-b_9", "x" * 80])
async def test_standard_names(name: str) -> None:
    bench = await make_bench()

    assert (await create(bench, name)).name == name


@pytest.mark.parametrize("name", ["", "x" * 81, "a.b", "ä", "a b", "orders.fifo", ".fifo", "a\n", "../etc"])
async def test_bad_standard_name_is_refused(name: str) -> None:
    bench = await make_bench()

    with pytest.raises(InvalidParameterValue) as raised:
        await create(bench, name)

    assert str(raised.value) == "Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length"


async def test_fifo_suffix_counts_to_the_length() -> None:
    bench = await make_bench()

    assert (await create(bench, "x" * 75 + ".fifo", **FIFO)).settings.is_fifo
    with pytest.raises(InvalidParameterValue, match=r"must end with \.fifo suffix"):
        await create(bench, "x" * 76 + ".fifo", **FIFO)


@pytest.mark.parametrize("name", ["orders", ".fifo", "a.b.fifo", "orders.FIFO"])
async def test_bad_fifo_name_is_refused(name: str) -> None:
    bench = await make_bench()

    with pytest.raises(InvalidParameterValue, match=r"must end with \.fifo suffix"):
        await create(bench, name, **FIFO)


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"is_fifo": False}, "Unknown Attribute FifoQueue."),
        ({"is_content_dedup": False}, "Unknown Attribute ContentBasedDeduplication."),
        (
            {"dedup_scope": DedupScope.QUEUE},
            "You can specify the DeduplicationScope only when FifoQueue is set to true.",
        ),
        (
            {"throughput_limit": ThroughputLimit.QUEUE},
            "You can specify the FifoThroughputLimit only when FifoQueue is set to true.",
        ),
    ],
)
async def test_what_only_fifo_queues_have_is_refused_on_a_standard_one(changes: dict[str, object], text: str) -> None:
    bench = await make_bench()

    with pytest.raises(InvalidAttributeName) as raised:
        await create(bench, "orders", **changes)

    assert str(raised.value) == text


async def test_throughput_per_group_needs_deduplication_per_group() -> None:
    bench = await make_bench()

    with pytest.raises(InvalidAttributeValue, match="the DeduplicationScope must be messageGroup"):
        await create(bench, "a.fifo", is_fifo=True, throughput_limit=ThroughputLimit.GROUP)

    both = {"throughput_limit": ThroughputLimit.GROUP, "dedup_scope": DedupScope.GROUP}
    assert (await create(bench, "a.fifo", is_fifo=True, **both)).settings.dedup_scope is DedupScope.GROUP


async def test_same_name_gives_the_same_queue() -> None:
    bench = await make_bench()
    first = await create(bench, "orders", visibility_ms=5_000, delay_ms=1_000)

    assert await create(bench, "orders") == first
    assert await create(bench, "orders", visibility_ms=5_000) == first
    assert await queues.create(bench.engine, first.key, {}, {"team": "shop"}) == first


async def test_same_name_with_another_value_names_the_attribute() -> None:
    bench = await make_bench()
    await create(bench, "orders")

    with pytest.raises(QueueNameExists) as raised:
        await create(bench, "orders", delay_ms=0, visibility_ms=5_000)

    assert str(raised.value).endswith("a different value for attribute VisibilityTimeout")


async def test_two_creates_at_once_make_one_queue() -> None:
    bench = await make_bench()
    bench.slow()

    first, second = await asyncio.gather(create(bench, "orders"), create(bench, "orders"))

    assert first == second
    assert await bench.store.queues() == [first]
    assert (await bench.cache.state(shard_of(first))).residency is Residency.READY


async def test_two_different_creates_at_once_make_one_queue_and_one_error() -> None:
    bench = await make_bench()
    bench.slow()

    results = await asyncio.gather(
        create(bench, "orders", delay_ms=1_000), create(bench, "orders", delay_ms=2_000), return_exceptions=True
    )

    assert sorted(type(result).__name__ for result in results) == ["Queue", "QueueNameExists"]


async def test_create_is_unknown_when_the_store_fails() -> None:
    bench = await make_bench()
    bench.store.fail("create", StoreUnavailable("disk full"))

    with pytest.raises(StoreUnavailable):
        await create(bench, "orders")

    assert len(bench.engine.registry) == 0
    assert (await create(bench, "orders")).name == "orders"


async def test_queue_is_created_without_its_cache() -> None:
    bench = await make_bench()
    bench.cache.fail("begin_fill", CacheUnavailable("down"))

    queue = await create(bench, "orders")

    assert (await bench.cache.state(shard_of(queue))).residency is Residency.ABSENT


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        (arn("nowhere"), "Dead letter target does not exist."),
        (arn("dead", account="111111111111"), "Dead-letter target owner should be same as the source."),
        (arn("dead", region="eu-west-1"), "Dead-letter target must be in same region as the source."),
        (arn("dead.fifo"), "Dead-letter queue must be same type of queue as the source."),
        (arn("closed"), "The dead-letter target's RedriveAllowPolicy does not allow this queue."),
        (arn("others"), "The dead-letter target's RedriveAllowPolicy does not allow this queue."),
        (arn("orders"), "A queue can't be its own dead-letter target."),
        *((text, "Invalid value for deadLetterTargetArn.") for text in ("dead", arn("dead").replace(":aws:", ":cn:"))),
    ],
)
async def test_dead_letter_queue_must_fit(target: str, reason: str) -> None:
    bench = await make_bench()
    await create(bench, "dead")
    await create(bench, "dead.fifo", **FIFO)
    await create(bench, "closed", redrive_allow=RedriveAllow(RedrivePermission.DENY_ALL))
    await create(bench, "others", redrive_allow=RedriveAllow(RedrivePermission.BY_QUEUE, (arn("other"),)))

    with pytest.raises(InvalidParameterValue) as raised:
        await create(bench, "orders", redrive=Redrive(target, 3))

    value = f'{{"deadLetterTargetArn":"{target}","maxReceiveCount":"3"}}'
    assert str(raised.value) == f"Value {value} for parameter RedrivePolicy is invalid. Reason: {reason}"


async def test_dead_letter_queue_may_name_its_sources() -> None:
    bench = await make_bench()
    await create(bench, "dead", redrive_allow=RedriveAllow(RedrivePermission.BY_QUEUE, (arn("orders"),)))

    queue = await create(bench, "orders", redrive=Redrive(arn("dead"), 3))

    assert bench.engine.registry.sources(bench.engine.registry.find(QueueName(ACCOUNT, "dead")), "", 10) == [queue]


async def test_one_kind_of_encryption_at_a_time() -> None:
    bench = await make_bench()

    with pytest.raises(InvalidAttributeName, match="You can use one type of server-side encryption"):
        await create(bench, "orders", kms_key_id="alias/mine", is_sse_managed=True)

    queue = await create(bench, "orders", kms_key_id="alias/mine")
    assert not queue.settings.is_sse_managed
    assert await create(bench, "orders", kms_key_id="alias/mine") == queue


async def test_recreating_at_once_is_refused_only_when_asked_for() -> None:
    strict = await make_bench(tuning=Tuning(is_recreate_wait_on=True))
    lax = await make_bench()
    for bench in (strict, lax):
        await queues.delete(bench.engine, await create(bench, "orders"))

    strict.clock.advance_ms(59_999)
    with pytest.raises(QueueDeletedRecently):
        await create(strict, "orders")
    assert (await create(lax, "orders")).name == "orders"

    strict.clock.advance_ms(1)
    assert (await create(strict, "orders")).name == "orders"
