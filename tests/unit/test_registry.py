"""The registry: queues are found by name, ARN and storage id, in order, and never replaced by an older version."""

from __future__ import annotations

from itertools import chain, count

import msgspec
import pytest

from cqs.errors import QueueDoesNotExist
from cqs.queue import Queue, QueueName, Redrive, Settings
from cqs.service import queues
from cqs.service.registry import DISCARDED_MAX, Registry
from tests.engine import make_bench

ACCOUNT = "000000000000"


def queue(
    name: str, uid: int = 1, version: int = 0, generation: int = 0, dead: str = "", account: str = ACCOUNT
) -> Queue:
    redrive = Redrive(f"arn:aws:sqs:us-east-1:{ACCOUNT}:{dead}", 3) if dead else None
    return Queue(
        account=account,
        name=name,
        region="us-east-1",
        uid=uid,
        version=version,
        generation=generation,
        created_ms=1,
        modified_ms=1,
        settings=Settings(redrive=redrive),
    )


def names(queues: list[Queue]) -> list[str]:
    return [one.name for one in queues]


def test_queue_is_found_by_name_arn_and_storage() -> None:
    registry = Registry()
    orders = queue("orders")
    registry.put(orders)

    assert registry.find(QueueName(ACCOUNT, "orders")) is orders
    assert registry.of_arn(f"arn:aws:sqs:us-east-1:{ACCOUNT}:orders") is orders
    assert registry.of_storage(orders.storage_id) is orders


def test_unknown_queue_raises() -> None:
    with pytest.raises(QueueDoesNotExist):
        Registry().find(QueueName(ACCOUNT, "orders"))


def test_purged_generation_is_found_no_more() -> None:
    registry = Registry()
    before, after = queue("orders"), queue("orders", version=1, generation=1)
    registry.put(before)
    registry.put(after)

    assert registry.of_storage(before.storage_id) is None
    assert registry.of_storage(after.storage_id) is after
    assert len(registry) == 1


def test_older_version_that_arrives_late_is_ignored() -> None:
    registry = Registry()
    registry.put(queue("orders", version=2))
    registry.put(queue("orders", version=1, dead="dead"))

    assert registry.find(QueueName(ACCOUNT, "orders")).version == 2
    assert registry.sources(queue("dead"), "", 10) == []


def test_discarded_queue_does_not_come_back() -> None:
    registry = Registry()
    registry.put(queue("orders"))
    registry.discard(queue("orders"))
    registry.put(queue("orders", version=1))

    assert registry.get(QueueName(ACCOUNT, "orders")) is None
    assert registry.page(ACCOUNT, "", "", 10) == []
    assert len(registry) == 0


def test_successor_of_a_discarded_queue_is_another_queue() -> None:
    registry = Registry()
    registry.put(queue("orders", uid=1))
    registry.discard(queue("orders", uid=1))
    registry.put(queue("orders", uid=2))
    registry.discard(queue("orders", uid=1))

    assert registry.find(QueueName(ACCOUNT, "orders")).uid == 2


def test_memory_of_discarded_queues_is_bounded() -> None:
    registry = Registry()
    for uid in range(DISCARDED_MAX + 1):
        registry.discard(queue("orders", uid=uid))
    registry.put(queue("orders", uid=0))

    assert registry.find(QueueName(ACCOUNT, "orders")).uid == 0


def test_page_keeps_order_prefix_account_and_limit() -> None:
    registry = Registry()
    for uid, name in enumerate(["b2", "a1", "b1", "c1", "b3"], 1):
        registry.put(queue(name, uid=uid))
    registry.put(queue("b0", uid=9, account="111111111111"))

    assert names(registry.page(ACCOUNT, "b", "", 2)) == ["b1", "b2"]
    assert names(registry.page(ACCOUNT, "b", "b2", 2)) == ["b3"]
    assert names(registry.page(ACCOUNT, "", "", 10)) == ["a1", "b1", "b2", "b3", "c1"]
    assert registry.page("222222222222", "", "", 10) == []


def test_sources_follow_changes_of_the_redrive_policy() -> None:
    registry = Registry()
    dead, other = queue("dead", uid=10), queue("other", uid=11)
    for uid, name in enumerate(["s3", "s1", "s2"], 1):
        registry.put(queue(name, uid=uid, dead="dead"))

    assert names(registry.sources(dead, "", 10)) == ["s1", "s2", "s3"]
    assert names(registry.sources(dead, "s1", 1)) == ["s2"]

    registry.put(queue("s2", uid=3, version=1, dead="other"))
    registry.put(queue("s1", uid=2, version=1))
    registry.discard(queue("s3", uid=1))

    assert registry.sources(dead, "", 10) == []
    assert names(registry.sources(other, "", 10)) == ["s2"]


def test_dead_letter_queue_of_another_account_has_no_source() -> None:
    registry = Registry()
    registry.put(queue("orders", account="111111111111", dead="dead"))

    assert registry.sources(queue("dead", uid=2), "", 10) == []


def test_source_keeps_its_place_when_something_else_changes() -> None:
    registry = Registry()
    source = queue("orders", dead="dead")
    registry.put(source)
    registry.put(msgspec.structs.replace(source, version=1, tags={"team": "shop"}))

    assert names(registry.sources(queue("dead", uid=2), "", 10)) == ["orders"]


def test_queues_without_their_dead_letter_queue_are_known() -> None:
    registry = Registry()
    for one in (queue("orders", 1, dead="dead"), queue("bills", 2, dead="dead"), queue("mail", 3), queue("a", 4)):
        registry.put(one)
    assert names(registry.bereft(ACCOUNT)) == ["bills", "orders"]

    registry.put(queue("dead", 5))
    assert registry.bereft(ACCOUNT) == []

    registry.discard(queue("dead", 5))
    registry.discard(queue("orders", 1))
    assert names(registry.bereft(ACCOUNT)) == ["bills"]
    assert registry.bereft("111111111111") == []


async def test_no_queue_gets_the_uid_of_another_one_or_of_one_that_was_just_deleted() -> None:
    bench = await make_bench()
    living, deleted = await bench.create("living"), await bench.create("deleted")
    await queues.delete(bench.engine, deleted)
    drawn = chain([living.uid, deleted.uid], count(7))
    bench.engine.rng.getrandbits = lambda _: next(drawn)  # type: ignore[method-assign]

    assert (await bench.create("orders")).uid == 7
