"""Which messages count as lost, and which are only waiting."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from spark_jobs.counted import counted
from spark_jobs.findings import COLUMNS, Kind
from spark_jobs.reconcile import Reconciled
from spark_jobs.verdict import State, judge
from tests.spark.test_verdict import WHOLE, totals

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FINDINGS = ", ".join(f"{name} {'long' if name in ('uid', 'at_ms', 'amount') else 'string'}" for name in COLUMNS)


def test_message_that_is_not_due_when_its_queue_is_last_asked_is_not_lost(spark: SparkSession) -> None:
    from spark_jobs.loss import asked_of, not_received

    lives = spark.createDataFrame(
        [
            *[("due", 1, 900, 0, "", True), ("delayed", 1, 1_001, 0, "", True), ("never asked", 2, 9_000, 0, "", True)],
            *[("received", 1, 0, 1, "", True), ("expired", 1, 0, 0, "expired", True), ("later", 1, 0, 0, "", True)],
        ],
        "address string, uid long, visible_ms long, deliveries long, fate string, is_known boolean",
    ).selectExpr("*", "'a' AS account", "'q' AS queue", "'' AS tenant", "'' AS run")
    lives = lives.selectExpr("*", "if(address = 'later', 1001L, 1L) AS sent_ms")
    told = [(1, "received", 700, 699), (1, "received_nothing", 1_900, 1_000), (1, "sent", 5_000, 0)]
    events = spark.createDataFrame(
        [*told, (1, "closed", 9_000, 0)], "uid long, event string, at_ms long, received_ms long"
    )

    found = {row["address"]: row["kind"] for row in not_received(lives, asked_of(events)).collect()}

    assert found == {
        **{"due": "not received", "delayed": "not due yet", "never asked": "not received"},
        **{"later": "not due yet"},
    }


def test_message_that_is_lost_in_two_ways_is_one(spark: SparkSession) -> None:
    from spark_jobs.audit import twice_in
    from spark_jobs.groups import gone_of

    kinds = [("a", Kind.LOST), ("a", Kind.NOT_RECEIVED), ("b", Kind.LOST), ("c", Kind.NOT_RECEIVED)]
    kinds += [("d", Kind.CORRUPTED), ("d", Kind.LOST), ("d", Kind.ORPHAN)]
    rows = [(kind.value, "", "", 1, "", "", address, 1, 1, "") for address, kind in kinds]
    found = spark.createDataFrame(rows, FINDINGS)

    assert twice_in(found, [Kind.LOST, Kind.NOT_RECEIVED]) == 2
    assert twice_in(found, [Kind.LOST]) == 1
    assert gone_of(found, [Kind.LOST]).count() == 4


def test_losses_that_receivers_and_the_store_tell_add_up() -> None:
    """Messages that are stored but not delivered, and messages missing from the store after a receive."""
    found = totals(not_received=3, lost=2)

    apart, same = (
        judge(replace(found, lost_twice=twice), WHOLE, is_drained=True, store=Reconciled(lost=2)) for twice in (0, 1)
    )

    assert (apart.state, apart.lost, apart.reasons) == (State.VIOLATED, 5, ("5 acknowledged messages are lost",))
    assert same.lost == 4


def test_message_that_is_not_due_is_a_doubt_until_the_store_has_it() -> None:
    found = totals(not_due_yet=1)

    told = judge(found, WHOLE, is_drained=True)

    assert (told.state, told.reasons) == (
        State.UNPROVEN,
        ("1 message was sent or became visible after the last receive",),
    )
    assert judge(found, WHOLE, is_drained=True, store=Reconciled(stored=1)).state is State.PROVEN


@pytest.mark.parametrize(("number", "text"), [(1, "1 delivery, it is late"), (2, "2 deliveries, they are late")])
def test_counts_agree_with_their_words(number: int, text: str) -> None:
    assert counted(number, "deliver(y|ies), (it is|they are) late") == text
