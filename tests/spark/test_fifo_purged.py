"""FIFO queues that were purged or deleted: no delivery counts as overtaking their messages, which leave the stream's
state."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from cqs.ids import text_of
from cqs.message import Message
from cqs.queue import Queue
from spark_jobs.verdict import State
from tests.spark.golden import Golden
from tests.spark.streams import run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DELAY_MS = 30_000


def purge(golden: Golden, queue: Queue) -> Queue:
    """Purges the queue. Returns the queue as it is from then on."""
    golden.tick()
    after = msgspec.structs.replace(queue, generation=queue.generation + 1)
    golden.node.purged(after)
    return after


def settle_all(golden: Golden) -> None:
    golden.tick(2 * DELAY_MS)
    golden.send(golden.queue("after"), 1)
    golden.close()


def carried(spark: SparkSession, output: Path, number: int) -> set[str]:
    """Returns the addresses of the messages in the stream's state with that number."""
    rows = spark.read.parquet(str(output / "states" / str(number) / "carried")).collect()
    return {row["address"] for row in rows}


def addresses(*messages: Message) -> set[str]:
    return {text_of(message.address) for message in messages}


def test_what_a_purge_ended_is_not_overtaken(spark: SparkSession, tmp_path: Path) -> None:
    from spark_jobs.audit import Rules, audit

    golden = Golden(tmp_path / "journal", seed=21)
    payments = golden.queue("payments.fifo")
    held, _ = golden.send(payments, 2, "g")
    golden.receive(payments, held)
    payments = purge(golden, payments)
    golden.consume(payments, *golden.send(payments, 1, "g"))
    golden.close()

    found = audit(spark, [str(tmp_path / "journal")], str(tmp_path / "audit"), Rules(has_all_nodes=True))
    streamed = run(spark, tmp_path / "journal", output=tmp_path / "live")

    assert (found.totals.found, found.verdict.state) == ({}, State.PROVEN)
    assert (streamed["totals"]["fifo_order"], streamed["totals"]["fifo_two_consumers"]) == (0, 0)
    assert streamed["verdict"]["state"] == "proven"


def test_messages_that_are_gone_leave_the_state_of_the_stream(spark: SparkSession, tmp_path: Path) -> None:
    golden, output = Golden(tmp_path / "journal", seed=22), tmp_path / "out"
    payments, dropped = golden.queue("payments.fifo"), golden.queue("dropped.fifo")
    golden.send(payments, 2, "g")
    payments = purge(golden, payments)
    [waiting] = golden.send(payments, 1, "g")
    golden.send(dropped, 2, "g")
    golden.node.queue_deleted(dropped)
    settle_all(golden)
    run(spark, tmp_path / "journal", output=output, delay_ms=DELAY_MS)

    assert carried(spark, output, 0) == addresses(waiting)


def test_overtaken_before_a_purge_that_is_not_settled_yet_is_found(spark: SparkSession, tmp_path: Path) -> None:
    """The purge is read when the overtaken message is settled but the delivery is not."""
    golden, output = Golden(tmp_path / "journal", seed=23), tmp_path / "out"
    payments = golden.queue("payments.fifo")
    first, second = golden.send(payments, 2, "g")
    golden.tick(2 * DELAY_MS)
    golden.consume(payments, second)
    golden.send(purge(golden, payments), 1, "g")
    golden.close()
    early = run(spark, tmp_path / "journal", output=output, delay_ms=DELAY_MS)
    assert carried(spark, output, 0) == addresses(first, second)
    later = Golden(tmp_path / "journal", seed=24)
    later.tick(2 * DELAY_MS)
    settle_all(later)

    settled = run(spark, tmp_path / "journal", output=output, delay_ms=DELAY_MS)

    assert (early["totals"]["fifo_order"], early["verdict"]["state"]) == (1, "unproven")
    assert (settled["totals"]["fifo_order"], settled["verdict"]["state"]) == (1, "violated")
