"""Clock skew between nodes: the audit does not treat it as a fault if it is given the bound."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from cqs.ids import text_of
from cqs.journal.rules import JournalRules
from cqs.testing.clock import ManualClock
from cqs.testing.journal import JournalHere
from tests.spark.golden import Golden, receipt_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_message_shown_by_a_node_whose_clock_is_ahead_was_hidden_long_enough(
    spark: SparkSession, tmp_path: Path
) -> None:
    from spark_jobs.events import read_journal
    from spark_jobs.hiding import hidden_too_short
    from spark_jobs.tables import moments_of, steps_of

    golden = Golden(tmp_path / "journal", seed=2)
    ahead = ManualClock(golden.clock.now_ms() + 40)
    other = JournalHere(JournalRules(tmp_path / "journal", "ahead"), ahead, golden.rng)
    orders = golden.queue("orders")
    [message] = golden.send(orders, 1)
    [received] = golden.receive(orders, message)
    ahead.set_ms(golden.clock.now_ms() + 40)
    other.hidden(orders, receipt_of(orders, received), ahead.now_ms())
    golden.receive(orders, message)
    other.finish()
    golden.close()

    events = read_journal(spark, [str(tmp_path / "journal")], str(tmp_path / "stage")).events
    moments = moments_of(events)

    assert hidden_too_short(steps_of(moments), 0).count() == 1
    assert hidden_too_short(steps_of(moments, 50), 50).count() == 0


def test_deletes_of_a_node_whose_clock_is_behind_are_no_faults(spark: SparkSession, tmp_path: Path) -> None:
    from spark_jobs.events import read_journal
    from spark_jobs.fifo import fifo_violations
    from spark_jobs.lives import lives_of
    from spark_jobs.resurrected import resurrected
    from spark_jobs.tables import moments_of, steps_of

    golden = Golden(tmp_path / "journal", seed=2)
    golden.clock.advance_ms(1_000)
    behind = ManualClock(golden.clock.now_ms() - 40)
    other = JournalHere(JournalRules(tmp_path / "journal", "node-behind"), behind, golden.rng)
    payments = golden.queue("payments.fifo")
    messages = golden.send(payments, 3, "g")
    for message in messages:
        golden.receive(payments, message)
        golden.tick()
        behind.advance_ms(golden.clock.now_ms() - 40 - behind.now_ms())
        other.deleted(payments, [message.address])
    other.finish()
    golden.close()

    events = read_journal(spark, [str(tmp_path / "journal")], str(tmp_path / "stage")).events
    steps = steps_of(moments_of(events), 50).cache()
    lives = lives_of(steps).cache()

    assert resurrected(steps, skew_ms=0).count() == 3
    assert resurrected(steps, skew_ms=50).count() == 0
    assert fifo_violations(steps, lives, skew_ms=50).count() == 0


def test_clock_that_went_back_is_seen(spark: SparkSession, tmp_path: Path) -> None:
    """A server records a delete after the receive, with an earlier time."""
    from spark_jobs.absence import skew_of
    from spark_jobs.events import read_journal
    from spark_jobs.resurrected import resurrected
    from spark_jobs.tables import moments_of, steps_of

    golden = Golden(tmp_path / "journal", seed=2)
    golden.journals = golden.journals[:1]
    orders = golden.queue("orders")
    first, again = golden.send(orders, 2)
    golden.consume(orders, again)
    golden.receive(orders, again)
    golden.receive(orders, first)
    golden.tick(-500)
    golden.node.deleted(orders, [first.address])
    golden.close()

    events = read_journal(spark, [str(tmp_path / "journal")], str(tmp_path / "stage")).events
    moments = moments_of(events)
    steps = steps_of(moments).cache()

    assert resurrected(steps).count() == 2
    assert skew_of(events, steps) == 500
    of_again = moments.where(f"address = '{text_of(again.address)}'")
    assert skew_of(of_again, steps_of(of_again)) == 0
