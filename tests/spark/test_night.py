"""An audit of a night while the servers still run: one was in use, one idle."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cqs.ids import text_of
from cqs.journal.journal import BEAT_MS
from cqs.message import Message
from cqs.queue import Queue
from spark_jobs.gaps import GapKind
from spark_jobs.verdict import State, last_line
from spark_jobs.window import Window
from tests.spark.golden import Golden

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from spark_jobs.audit import Audit

SENT, DELETED, DELETED_LATER = 20, 11, 3


def there_of(spark: SparkSession, stored: Iterable[tuple[Queue, Message]]) -> DataFrame:
    """What a store contains that has these messages of these queues."""
    rows = [(text_of(one.address), queue.uid, 0, hashlib.md5(one.body.encode()).hexdigest()) for queue, one in stored]
    return spark.createDataFrame(rows, "address string, uid long, generation long, md5 string")


class Night:
    """Plays the night. `stored`: what the store contains when it is read, some time after the window."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        golden = self.golden = Golden(folder, seed=9)
        served, quiet = golden.journals
        golden.journals = [served]
        queue = self.queue = golden.queue("orders")
        self.before = golden.send(queue, 4)
        self.ended_before = golden.send(queue, 1)
        golden.consume(queue, *self.ended_before)
        golden.tick(60_000)
        since_ms = golden.clock.now_ms()
        golden.tick()
        golden.receive(queue, self.before[0])
        self.within = golden.send(queue, SENT)
        golden.consume(queue, *self.within[:DELETED])
        golden.tick()
        until_ms = golden.clock.now_ms()
        golden.tick(60_000)
        golden.consume(queue, *self.within[DELETED : DELETED + DELETED_LATER])
        self.after = golden.send(queue, 2)
        self.stranger = golden.message(queue)
        self.window = Window(since_ms, until_ms, golden.clock.now_ms() + 30_000)
        for _ in range(5):
            golden.tick(BEAT_MS)
            served.beat()
            quiet.beat()
        served.flush()
        quiet.flush()

    @property
    def stored(self) -> list[Message]:
        return [*self.before, *self.within[DELETED + DELETED_LATER :], *self.after]

    def audited(self, spark: SparkSession, output: Path, stored: list[Message]) -> Audit:
        from spark_jobs.audit import Rules, audit

        there = there_of(spark, [(self.queue, one) for one in stored])
        return audit(spark, [str(self.folder)], str(output), Rules(has_all_nodes=True, window=self.window), there)


@pytest.fixture(scope="module")
def night(tmp_path_factory: pytest.TempPathFactory) -> Night:
    return Night(tmp_path_factory.mktemp("night") / "journal")


def test_night_of_servers_that_run_is_proven_a_quiet_one_among_them(
    spark: SparkSession, tmp_path: Path, night: Night
) -> None:
    found = night.audited(spark, tmp_path, night.stored)

    assert (found.verdict.state, found.verdict.lost) == (State.PROVEN, 0), found.verdict.reasons
    assert found.totals.acknowledged == SENT
    assert (found.totals.received, found.totals.deleted) == (DELETED + DELETED_LATER, DELETED + DELETED_LATER)
    assert found.verdict.reasons[-1].endswith(": 20 messages sent, 14 ended, 6 not settled yet")
    assert found.integrity.is_whole
    [queue] = found.tables["queues"]
    assert (queue["acknowledged"], queue["receives"], queue["loss_rate"]) == (SENT, 2, 0)


def test_losses_of_the_night_are_found_and_later_ones_are_not_counted(
    spark: SparkSession, tmp_path: Path, night: Night
) -> None:
    """Missing: a message of the night, one received in it, one sent before it and one sent after it. Wrongly there: a
    message that ended before, one that nobody sent and, after the night, another one that nobody sent."""
    heard, earlier, *rest = night.stored
    lost, later = night.within[-1], night.after[0]
    there = [one for one in rest if one.address not in (lost.address, later.address)]
    there += [*night.ended_before, night.stranger]

    found = night.audited(spark, tmp_path, there)

    assert found.store is not None
    assert (found.store.lost, found.store.still_stored, found.store.orphans) == (2, 1, 0)
    assert found.totals.found == {
        "lost": 2,
        "not received": 6,
        "ended but still stored": 1,
        "open before the window": 1,
    }
    assert (found.verdict.state, found.verdict.lost) == (State.VIOLATED, 2)
    told = {(row["kind"], row["address"]) for row in found.tables["findings"]}
    assert {("lost", text_of(one.address)) for one in (heard, lost)} < told
    assert ("open before the window", text_of(earlier.address)) in told
    assert found.verdict.reasons[-1].endswith(": 20 messages sent, 14 ended, 5 not settled yet")


def test_night_in_which_a_server_was_killed_is_unproven(spark: SparkSession, tmp_path: Path) -> None:
    """Its file, which the next server finishes, ends in the night."""
    night = Night(tmp_path / "journal")
    [quiet] = [path for path in night.folder.iterdir() if path.name.startswith("node-b")]
    opened = quiet.read_bytes().splitlines(keepends=True)[0]
    quiet.with_suffix(".gz").write_bytes(gzip.compress(opened))
    quiet.unlink()

    found = night.audited(spark, tmp_path / "audit", night.stored)

    assert [(gap.kind, gap.node) for gap in found.integrity.gaps] == [(GapKind.NO_END, "node-b")]
    assert found.verdict.state is State.UNPROVEN
    assert " lost unproven " in last_line(found.totals, found.verdict, "r")
