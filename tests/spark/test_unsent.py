"""Messages whose send is not recorded as done: what may explain them, and that nothing else is lost with them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cqs.ids import ms_of, text_of
from spark_jobs.verdict import State
from tests.spark.golden import Golden

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SKEW_MS = 5_000


@dataclass
class Played:
    """A journal of two nodes, of which the second one's clock is behind, and what is in the store then."""

    journal: Path
    stored: DataFrame


@pytest.fixture(scope="module")
def played(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Played:
    """A message expired and one was deleted with unknown outcomes, and both are gone. One was sent after the last
    receive, and is stored."""
    folder = tmp_path_factory.mktemp("unsent") / "journal"
    golden = Golden(folder, seed=33)
    queue, (first, second) = golden.queue("orders"), golden.journals
    golden.journals = [first]
    [expired] = golden.send(queue, 1)
    golden.tick(2 * SKEW_MS)
    first.doubtful(queue, [expired.address])
    [deleted] = golden.send(queue, 1)
    golden.tick()
    first.received_nothing(queue)
    first.flush()
    golden.tick(-SKEW_MS // 2)
    second.doubtful(queue, [deleted.address])
    golden.journals = [second]
    [late] = golden.send(queue, 1)
    golden.journals = [first, second]
    golden.tick(SKEW_MS)
    golden.close()
    row = (text_of(late.address), queue.uid, 0, hashlib.md5(late.body.encode()).hexdigest())
    return Played(folder, spark.createDataFrame([row], "address string, uid long, generation long, md5 string"))


@pytest.mark.parametrize("has_store", [True, False])
def test_what_is_gone_for_a_doubtful_end_is_not_lost_whichever_clock_says_when(
    spark: SparkSession, tmp_path: Path, played: Played, has_store: bool
) -> None:
    from spark_jobs.audit import Rules, audit

    rules = Rules(is_drained=True, has_all_nodes=True, skew_ms=SKEW_MS)
    found = audit(spark, [str(played.journal)], str(tmp_path), rules, played.stored if has_store else None)

    assert found.totals.found == {"not due yet": 2}
    assert found.verdict.state is (State.PROVEN if has_store else State.UNPROVEN)


def test_message_that_was_received_and_is_gone_is_lost_though_its_send_is_not_recorded(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Its send had an unknown outcome, and was answered when it was repeated."""
    from spark_jobs.audit import Rules, audit

    golden = Golden(tmp_path / "journal", seed=34)
    queue = golden.queue("orders.fifo")
    golden.consume(queue, *golden.send(queue, 1, "g"))
    gone = golden.message(queue, "g")
    golden.node.doubtful(queue, [gone.address])
    golden.tick()
    golden.node.deduplicated(queue, [gone.address])
    golden.receive(queue, gone)
    golden.close()
    nothing = spark.createDataFrame([], "address string, uid long, generation long, md5 string")

    found = audit(spark, [str(tmp_path / "journal")], str(tmp_path / "audit"), Rules(has_all_nodes=True), nothing)

    assert (found.verdict.state, found.verdict.lost) == (State.VIOLATED, 1)
    assert found.tables["findings"][0]["detail"] == "received, but its send is not recorded"


def test_what_nobody_sent_has_three_excuses(spark: SparkSession, tmp_path: Path) -> None:
    """A duplicate send was answered with it, its send or delete had an unknown outcome, or it is older than the
    journal."""
    from spark_jobs.events import read_journal
    from spark_jobs.findings import COLUMNS, Kind
    from spark_jobs.unsent import explained

    golden = Golden(tmp_path / "journal", seed=32)
    queue = golden.queue("orders")
    answered, doubtful, stranger, deleted, lost = (golden.message(queue) for _ in range(5))
    golden.node.deduplicated(queue, [answered.address])
    golden.node.doubtful(queue, [doubtful.address])
    golden.tick()
    golden.node.doubtful(queue, [deleted.address])
    golden.close()
    journal = read_journal(spark, [str(tmp_path / "journal")], str(tmp_path / "stage"))
    old = stranger.address - (1 << 100)
    rows = [
        *[(Kind.ORPHAN, address) for address in (answered.address, doubtful.address, stranger.address, old)],
        *[(Kind.LOST, message.address) for message in (deleted, lost, answered)],
    ]
    wrong = spark.createDataFrame(
        [(kind.value, "a", "q", 1, "", "", text_of(address), ms_of(address), 1, "") for kind, address in rows],
        ", ".join(f"{name} {'long' if name in ('uid', 'at_ms', 'amount') else 'string'}" for name in COLUMNS),
    )

    found = {(row["kind"], row["address"]) for row in explained(wrong, journal.events, journal.began_ms).collect()}

    assert found == {
        ("orphan", text_of(stranger.address)),
        ("older than the journal", text_of(old)),
        ("lost", text_of(lost.address)),
        ("lost", text_of(answered.address)),
    }
