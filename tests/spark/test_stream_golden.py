"""The run with every fault and a random one, streamed in pieces: one node's lines come later, the stream is restarted
for each piece, once after a crash and once with another delay. The figures equal those of the batch audit."""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from cqs.journal.blocks import block_of
from cqs.journal.files import files_of
from tests.spark.at_random import QUEUES, play_at_random
from tests.spark.everything import FAULTS, play_everything
from tests.spark.golden import Golden
from tests.spark.oracle import order
from tests.unit.journal_bench import lines_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from spark_jobs.audit import Audit

DELAY_MS = 135_000
LAG_MS = 60_000
"""How much later than the other node's the lines of node-b arrive, except the last ones."""
PIECES = 3
REASONS = {
    "timeout ran out": "again_timed_out",
    "made visible": "again_made_visible",
    "hidden too short": "again_hidden_too_short",
    "after its delete": "again_after_delete",
}
COUNTS = (
    *("acknowledged", "received", "deleted", "ended_otherwise", "duplicates", "corrupted", "resurrected"),
    *("hidden_too_short", "fifo_order", "fifo_two_consumers", "receives", "empty", "given_back"),
)
MEASURES = ("out_of_order", "displacement", "p50", "p90", "p95", "p99", "p999")


class Stream:
    """The streaming audit of a folder that grows. `feed` copies what happened until then."""

    def __init__(self, spark: SparkSession, journal: Path, folder: Path) -> None:
        self._spark = spark
        self._here, self.output = folder / "here", folder / "live"
        self._here.mkdir()
        self._lines = {file.path.name: lines_of(file.path) for file in files_of(journal)}
        self._fed = 0

    def feed(self, until_ms: int = 1 << 62, lag_ms: int = 0, delay_ms: int = DELAY_MS) -> dict[str, Any]:
        from spark_jobs.streaming import start

        self._fed += 1
        for name, lines in self._lines.items():
            mark_ms = until_ms - (lag_ms if name.startswith("node-b.") else 0)
            own = [line for line in lines if line.at_ms <= mark_ms]
            if own:
                (self._here / name.replace(".jsonl", f"-{self._fed}.jsonl")).write_bytes(
                    gzip.compress(b"\n".join(map(block_of, own)))
                )
            self._lines[name] = lines[len(own) :]
        start(self._spark, [str(self._here)], str(self.output), is_once=True, delay_ms=delay_ms).awaitTermination()
        told: dict[str, Any] = json.loads((self.output / "figures.json").read_text())
        return told

    def crash(self) -> None:
        """Simulates a crash while the last batch wrote its state: the batch is not committed and runs again."""
        number = max(int(path.name) for path in (self.output / "states").iterdir())
        for name in (str(number), f".{number}.crc"):
            (self.output / "checkpoint" / "commits" / name).unlink(missing_ok=True)
        for name in ("open", "totals", "memory.json"):
            path = self.output / "states" / str(number) / name
            path.unlink() if path.is_file() else shutil.rmtree(path)


class Streamed:
    """The run in PIECES, long before the last message of another queue arrives (`whole`) and after it (`settled`)."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        from spark_jobs.audit import Rules, audit

        golden = self.golden = Golden(folder / "journal", seed=20260801)
        begin_ms = golden.clock.now_ms()
        play_everything(golden)
        self.planted, self.reasons = dict(golden.planted), dict(golden.redelivered)
        self.first_deliveries = dict(golden.first_deliveries)
        self.planned = golden.acknowledged
        play_at_random(golden)
        end_ms = golden.clock.now_ms()
        self.acknowledged = golden.acknowledged
        golden.tick(10 * DELAY_MS)
        after = golden.queue("after")
        golden.consume(after, *golden.send(after, 1))
        golden.close()
        stream = Stream(spark, folder / "journal", folder)
        self.early = []
        for piece in range(1, PIECES):
            until_ms = begin_ms + (end_ms - begin_ms) * piece // PIECES
            delay_ms = 2 * DELAY_MS if piece == 2 else DELAY_MS
            self.early.append(stream.feed(until_ms, LAG_MS, delay_ms)["totals"])
            if piece == 1:
                stream.crash()
        self.whole, self.settled = stream.feed(end_ms), stream.feed()
        self.still_open = spark.read.parquet(str(stream.output / "states" / str(PIECES) / "open"))
        self.audit: Audit = audit(spark, [str(folder / "journal")], str(folder / "audit"), Rules())


@pytest.fixture(scope="module")
def streamed(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Streamed:
    return Streamed(spark, tmp_path_factory.mktemp("streamed"))


def test_what_was_planted_is_found_before_it_is_settled(streamed: Streamed) -> None:
    rows, planted = {row["queue"]: row for row in streamed.whole["queues"]}, streamed.planted
    planned = [row for name, row in rows.items() if name not in QUEUES]
    totals = {name: sum(row[name] for row in planned) for name in (*COUNTS, *REASONS.values())}

    for kind in ("corrupted", "resurrected", "hidden too short", "fifo order", "fifo two consumers"):
        assert totals[kind.replace(" ", "_")] == planted[kind], kind
    assert totals["duplicates"] == planted["duplicate"]
    assert totals["acknowledged"] == streamed.planned
    assert streamed.whole["totals"]["acknowledged"] == streamed.acknowledged
    assert {reason: totals[name] for reason, name in REASONS.items()} == streamed.reasons
    for name, addresses in streamed.first_deliveries.items():
        assert (rows[name]["out_of_order"], rows[name]["displacement"]) == pytest.approx(order(addresses)), name


def test_pieces_are_of_the_run_and_nothing_of_it_is_late(streamed: Streamed) -> None:
    counts = [totals["acknowledged"] for totals in streamed.early]

    assert 0 < counts[0] < counts[1] < streamed.acknowledged
    assert {totals["late_lines"] for totals in [*streamed.early, streamed.settled["totals"]]} == {0}
    assert streamed.settled["totals"]["late"] == FAULTS["unexpected"]


def test_settled_figures_are_those_of_the_audit_of_the_whole(streamed: Streamed) -> None:
    rows, found = {row["queue"]: row for row in streamed.settled["queues"]}, streamed.audit

    for queue in found.tables["queues"]:
        row = rows[queue["queue"]]
        assert {name: row[name] for name in COUNTS} == {name: queue[name] for name in COUNTS}
        for name in MEASURES:
            assert (row[name] or 0) == pytest.approx(queue[name], rel=0.001), (queue["queue"], name)
        assert (row["latency_max"] or 0, row["latency_mean"]) == (queue["max"], pytest.approx(queue["mean"]))
        assert row["overtaken"] == 0
    told = {row["reason"]: row["count"] for row in found.tables["redeliveries"]}
    assert told == {reason: streamed.settled["totals"][name] for reason, name in REASONS.items()}


def test_state_keeps_what_may_still_come(streamed: Streamed) -> None:
    waiting = FAULTS["lost"] + FAULTS["unexpected"]

    assert streamed.settled["waiting"] == waiting
    of_the_run = streamed.still_open.where("queue != 'after'")
    assert of_the_run.select("address").distinct().count() == waiting
