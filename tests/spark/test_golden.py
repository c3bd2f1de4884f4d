"""The audit finds exactly what was planted: no more, no fewer."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cqs.ids import text_of
from spark_jobs.verdict import State
from tests.spark.everything import FAULTS, play_everything
from tests.spark.golden import Golden
from tests.spark.oracle import order

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from spark_jobs.audit import Audit

pytestmark = pytest.mark.usefixtures("in_parts")
SEED = 20260801


class Played:
    """A run with every fault, and its audit."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        from spark_jobs.audit import Rules, audit

        self.golden = Golden(folder / "journal", SEED)
        self.output = folder / "audit"
        play_everything(self.golden)
        self.golden.close()
        rules = Rules(is_drained=True, has_all_nodes=True)
        self.audit: Audit = audit(spark, [str(folder / "journal")], str(self.output), rules)


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


@pytest.mark.parametrize(("table", "column"), [("tenants", "tenant"), ("runs", "run")])
def test_order_of_a_tenant_and_of_a_run_is_that_of_its_messages_in_each_queue(
    played: Played, table: str, column: str
) -> None:
    golden = played.golden
    labels = golden.tenants if table == "tenants" else golden.runs
    rows = {row[column]: row for row in played.audit.tables[table]}

    assert len(rows) > 1
    for label, row in rows.items():
        parts = [
            own
            for addresses in golden.first_deliveries.values()
            if (own := [address for address in addresses if labels.get(address, "") == label])
        ]
        weighted = [(len(part), *order(part)) for part in parts]
        count = sum(messages for messages, _, _ in weighted)
        assert row["received"] == count
        assert row["out_of_order"] == pytest.approx(sum(m * rate for m, rate, _ in weighted) / count)
        assert row["displacement"] == pytest.approx(sum(m * moved for m, _, moved in weighted) / count)


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
