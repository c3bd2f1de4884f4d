"""The slots for queues in metrics: bounded and stable, and counters never decrease."""

from __future__ import annotations

from collections.abc import Sequence

from cqs.message import Attribute, Message
from cqs.metrics.queue_table import GONE_KEPT_MS, QueueTable
from cqs.metrics.witness import MetricsWitness
from cqs.queue import Queue


def queue_of(name: str, uid: int, account: str = "000000000000") -> Queue:
    return Queue(account=account, name=name, region="us-east-1", uid=uid, created_ms=1, modified_ms=1)


def message_of(body: str, *attributes: Attribute, source_arn: str | None = None) -> Message:
    return Message(address=1, body=body, sent_ms=1, attributes=attributes, source_arn=source_arn)


def table_with(*names: str, places: int = 500, patterns: Sequence[str] = ()) -> QueueTable:
    table = QueueTable(places, patterns)
    for uid, name in enumerate(names, 1):
        table.meet(queue_of(name, uid))
    return table


def forget_gone(table: QueueTable, living: Sequence[Queue], now_ms: int) -> None:
    table.forget_gone({queue.uid for queue in living}, {queue.key for queue in living}.__contains__, now_ms)


def names(table: QueueTable) -> list[str]:
    return [stats.name for stats in table]


def test_queues_that_come_late_count_in_other() -> None:
    table = table_with("a", "b", "c", places=2)

    table.meet(queue_of("c", 3)).sent += 4
    table.meet(queue_of("a", 1)).sent += 1

    assert names(table) == ["a", "b"]
    assert table.other.sent == 4
    assert table.total("sent") == 5


def test_half_of_the_places_wait_for_queues_that_match_a_pattern() -> None:
    table = table_with("a", "b", "c", "orders-1", "orders-2", "orders-3", places=4, patterns=["orders-*"])

    assert names(table) == ["a", "b", "orders-1", "orders-2"]


def test_wanted_queue_may_take_any_place() -> None:
    assert names(table_with("orders-1", "orders-2", "orders-3", places=4, patterns=["orders-*"])) == [
        "orders-1",
        "orders-2",
        "orders-3",
    ]


def test_namesake_of_a_deleted_queue_counts_on() -> None:
    table = table_with("a")
    table.meet(queue_of("a", 1)).sent += 3

    forget_gone(table, [], 1_000)
    table.meet(queue_of("a", 2)).sent += 1

    assert [(stats.name, stats.sent, stats.gone_ms) for stats in table] == [("a", 4, 0)]


def test_same_name_in_two_accounts_is_two_queues() -> None:
    table = table_with("a")

    table.meet(queue_of("a", 2, account="111122223333"))

    assert len(table) == 2


def test_deleted_queue_keeps_its_place_while_nobody_needs_it() -> None:
    table = table_with("a", places=2)

    forget_gone(table, [], 1_000)
    forget_gone(table, [queue_of("b", 2)], 1_000 + GONE_KEPT_MS)
    table.meet(queue_of("b", 2))

    assert names(table) == ["a", "b"]


def test_place_of_a_queue_gone_for_long_is_given_away_and_its_counts_stay_in_the_total() -> None:
    table = table_with("a", "b", places=2)
    table.meet(queue_of("a", 1)).sent += 5
    living = queue_of("b", 2)
    forget_gone(table, [living], 1_000)

    early = table.meet(queue_of("c", 3))
    forget_gone(table, [living], 1_000 + GONE_KEPT_MS)
    late = table.meet(queue_of("d", 4))

    assert early is table.other
    assert late.name == "d"
    assert names(table) == ["b", "d"]
    assert table.total("sent") == 5
    assert table.other.sent == 0


def test_uids_of_deleted_queues_are_forgotten() -> None:
    table = table_with("a", "b", "c", places=1)

    forget_gone(table, [queue_of("a", 1)], 1_000)

    assert list(table.by_uid) == [1]


def test_sizes_count_attributes_and_bytes() -> None:
    table = QueueTable()
    witness = MetricsWitness(table)
    queue = queue_of("a", 1)

    witness.sent(queue, [message_of("x"), message_of("x" * 1_024), message_of("x" * 1_025), message_of("é")])
    witness.sent(queue, [message_of("x", Attribute("name", "String", b"value"))])

    stats = table.meet(queue)
    assert stats.sent == 5
    assert stats.size_total == 1 + 1_024 + 1_025 + 2 + 1 + len("nameStringvalue")
    assert (stats.sizes[0], stats.sizes[1], stats.sizes[10], stats.sizes[11]) == (1, 1, 1, 1)


def test_dead_letters_and_moved_messages_are_told_apart() -> None:
    table = QueueTable()
    witness = MetricsWitness(table)
    source, target = queue_of("a", 1), queue_of("b", 2)

    witness.moved(source, target, [(1, message_of("x", source_arn=source.arn)), (2, message_of("y"))])

    assert (table.meet(source).dead_lettered, table.meet(source).redriven, table.meet(target).arrived) == (1, 1, 2)
