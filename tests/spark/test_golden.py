"""The audit finds exactly what was planted: no more, no fewer."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest

from cqs.ids import text_of
from spark_jobs.verdict import State
from tests.spark.golden import Golden
from tests.spark.oracle import order

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from spark_jobs.audit import Audit

SEED = 20260801
FAULTS = {
    "timeout": 7,
    "shown": 5,
    "given_back": 4,
    "replayed": 3,
    "lost": 6,
    "expired": 2,
    "corrupted": 3,
    "resurrected": 2,
    "hidden_short": 4,
    "extended_short": 2,
    "unexpected": 3,
}


class Played:
    """A run with every fault, and its audit."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        from spark_jobs.audit import Rules, audit

        self.golden = Golden(folder / "journal", SEED)
        self.output = folder / "audit"
        self._play_standard()
        self._play_fifo()
        self._play_ends()
        self.golden.close()
        self.audit: Audit = audit(spark, [str(folder / "journal")], str(self.output), Rules(is_drained=True))

    def _play_standard(self) -> None:
        golden, rng = self.golden, self.golden.rng
        orders = golden.queue("orders")
        messages = golden.send(orders, 200, sender="s-1")
        again = msgspec.structs.replace(messages[3], address=golden.addresses.next())
        golden.node.sent(orders, [again])
        golden.acknowledged += 1
        golden.planted["sent again"] = 1
        golden.consume(orders, again)
        golden._known.add(again.address)
        golden.first_deliveries["orders"] = [again.address]
        faults = [name for name, count in FAULTS.items() for _ in range(count)]
        plan = [*faults, *["consume"] * (len(messages) - len(faults))]
        rng.shuffle(plan)
        for place in range(0, 190, 19):
            messages[place], messages[place + 5] = messages[place + 5], messages[place]
        for name, message in zip(plan, messages, strict=True):
            if name == "consume":
                golden.consume(orders, message)
            else:
                golden.fault(name, orders, message)
        for _ in range(9):
            golden.node.received_nothing(orders)

    def _play_fifo(self) -> None:
        golden = self.golden
        payments = golden.queue("payments.fifo")
        plan = ["overtaken"] * 3 + ["shared"] * 2 + ["in_turn"] * 4
        golden.rng.shuffle(plan)
        for number, name in enumerate(plan):
            getattr(golden, name)(payments, f"group-{number % 3}")

    def _play_ends(self) -> None:
        golden = self.golden
        purged, gone, source, dead = (golden.queue(name) for name in ("purged", "gone", "source", "dead"))
        golden.send(purged, 3)
        golden.node.purged(msgspec.structs.replace(purged, generation=1))
        golden.send(gone, 2)
        golden.node.queue_deleted(gone)
        for message in golden.send(source, 3):
            golden.receive(source, message)
            golden.move(source, dead, message)


@pytest.fixture(scope="module")
def played(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Played:
    return Played(spark, tmp_path_factory.mktemp("golden"))


def test_each_kind_is_found_as_often_as_it_was_planted(played: Played) -> None:
    planted = dict(played.golden.planted)
    duplicates = planted.pop("duplicate")

    assert played.audit.totals.found == planted
    assert played.audit.totals.duplicates == duplicates
    assert played.audit.totals.acknowledged == played.golden.acknowledged
    assert played.audit.totals.duplicate_rate == duplicates / played.golden.acknowledged


def test_each_redelivery_has_its_reason(played: Played) -> None:
    found = {row["reason"]: row["count"] for row in played.audit.tables["redeliveries"]}

    assert found == dict(played.golden.redelivered)


def test_order_is_measured_as_the_oracle_does(played: Played) -> None:
    queues = {row["queue"]: row for row in played.audit.tables["queues"]}

    for name, addresses in played.golden.first_deliveries.items():
        rate, displacement = order(addresses)
        assert queues[name]["out_of_order"] == pytest.approx(rate)
        assert queues[name]["displacement"] == pytest.approx(displacement)
        assert queues[name]["received"] == len(addresses)
    assert queues["orders"]["out_of_order"] > 0


def test_figures_stand_in_the_row_of_their_queue_and_tenant(played: Played) -> None:
    queues = {row["queue"]: row for row in played.audit.tables["queues"]}
    tenants = Counter({row["tenant"]: row["acknowledged"] for row in played.audit.tables["tenants"]})

    assert queues["payments.fifo"]["fifo_order"] == 3
    assert queues["payments.fifo"]["fifo_two_consumers"] == 2
    assert queues["orders"]["corrupted"] == 3
    assert queues["orders"]["empty"] == 9
    assert queues["orders"]["given_back"] == 4
    lost = FAULTS["lost"] + FAULTS["unexpected"] + FAULTS["corrupted"]
    assert queues["orders"]["loss_rate"] == pytest.approx(lost / queues["orders"]["acknowledged"])
    assert queues["payments.fifo"]["loss_rate"] == 0
    assert (queues["purged"]["acknowledged"], queues["purged"]["ended_otherwise"]) == (3, 3)
    assert (queues["gone"]["ended_otherwise"], queues["source"]["ended_otherwise"]) == (2, 3)
    assert (queues["dead"]["acknowledged"], queues["dead"]["deleted"]) == (3, 3)
    assert sum(tenants.values()) == played.golden.acknowledged
    assert {"group-0", "group-1", "group-2"} < set(tenants)


def test_latency_counts_every_message_received(played: Played) -> None:
    [span] = played.audit.tables["spans"]
    received = sum(len(addresses) for addresses in played.golden.first_deliveries.values())

    assert span["messages"] == received
    assert 0 < span["p50"] <= span["p99"] <= span["max"]
    assert span["again"] == played.golden.planted["duplicate"]
    assert span["displacement"] == pytest.approx(played.audit.totals.displacement)


def test_findings_name_their_messages(played: Played, spark: SparkSession) -> None:
    found = spark.read.parquet(str(played.output / "findings"))

    kinds = Counter(row["kind"] for row in found.select("kind").collect())
    assert kinds["corrupted"] == 3
    addresses = {row["address"] for row in found.where("kind = 'sent again'").collect()}
    [again] = addresses
    assert again in {text_of(address) for address in played.golden._known}


def test_verdict_is_violated_and_says_why(played: Played) -> None:
    verdict = played.audit.verdict

    assert verdict.state is State.VIOLATED
    assert verdict.lost == FAULTS["lost"] + FAULTS["unexpected"] + FAULTS["corrupted"]
    assert len(verdict.reasons) == 7
