"""One batch of the streaming audit: computes state n from state n-1 and the new lines only, so that a batch that runs
again after a crash has the same result.

        time ────────────┬──────────────────────┬──────────────► latest line
                         settled                mark = latest - delay
    messages that ended  │ later events may     │ lines from before the mark
    here are added up    │ change these         │ are late in a later batch
                         └──── clock skew ──────┘
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from pyspark import StorageLevel
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_jobs import absence, stream_answered, stream_fifo, stream_latency, stream_order, stream_state
from spark_jobs.compressed import with_torn
from spark_jobs.empties import empties
from spark_jobs.errors import JobError
from spark_jobs.events import events_in, refuse_unknown_versions, summaries_of
from spark_jobs.fifo import line_of
from spark_jobs.groups import findings_by
from spark_jobs.integrity import FileSummary, Integrity, condensed, judge
from spark_jobs.lives import gone_in, lives_of, with_fate
from spark_jobs.staged import staged, united
from spark_jobs.stream_place import Gone, Memory, Place
from spark_jobs.tables import QUEUE, moment_schema, moments_of, steps_of, with_time

STATES_KEPT = 3


@dataclass(frozen=True, slots=True)
class Delays:
    """`delay_ms`: how long after its event a line may arrive. `skew_ms`: how far clocks may differ. Both may change at
    a restart."""

    delay_ms: int
    skew_ms: int = 0


def settle(lines: DataFrame, number: int, output: Path, delays: Delays) -> tuple[Place, Integrity]:
    """Writes state `number`, and sets bad lines aside. Idempotent. Raises JobError: UnknownVersion, or the previous
    state is missing or incomplete."""
    spark, stage = lines.sparkSession, str(output / "stage")
    before, here = (Place(spark, output / "states" / str(one)) for one in (number - 1, number))
    if number and not before.is_whole:
        raise JobError(f"{before.folder}, from which the streaming audit continues, is missing: name a new --output.")
    memory = before.memory()
    refuse_unknown_versions(lines)
    new = with_torn(spark, summaries_of(lines))
    unread = {file.path for file in new if not any(_contains(known, file) for known in memory.files)}
    copies = [file.path for file in new if file.path not in unread]
    files = [*memory.files, *(file for file in new if file.path not in copies)]
    integrity = judge(files, is_running=True)
    events = events_in(lines, integrity).where(~F.col("path").isin(copies))
    try:
        moments = staged(moments_of(events), f"{stage}/moments")
        late_lines, behind_ms = _late_and_behind(moments, memory.mark_ms)
        latest_ms = max([memory.latest_ms, *(file.last_ms for file in files)])
        mark_ms = max(memory.mark_ms, latest_ms - delays.delay_ms)
        now = Memory(
            files=condensed(files),
            gone=_merged(memory.gone, gone_in(events)),
            latest_ms=latest_ms,
            mark_ms=mark_ms,
            settled_ms=max(memory.settled_ms, mark_ms - delays.skew_ms),
            late_lines=memory.late_lines + late_lines,
            skew_ms=memory.skew_ms,
        )
        heard = united(before.read("open", moment_schema()), moments)
        is_read_again = not {file.path for file in memory.files}.isdisjoint(integrity.duplicates)
        if integrity.is_overlapping or is_read_again:
            heard = heard.dropDuplicates(["node", "incarnation", "number", "event"])
        marks = stream_order.Marks(memory.settled_ms, now.settled_ms, delays.delay_ms)
        stepped_ms = _Step(before, here, marks, now, delays.skew_ms, stage).add_up(heard, events)
        now = now.with_skew(max(behind_ms, stepped_ms), delays.skew_ms)
    finally:
        shutil.rmtree(stage, ignore_errors=True)
    _set_aside(lines, output / "bad_lines" / f"batch={number}", sum(file.bad for file in new))
    here.remember(now)
    shutil.rmtree(output / "states" / str(number - STATES_KEPT), ignore_errors=True)
    return here, integrity


@dataclass(frozen=True, slots=True)
class _Step:
    """The transition from one state to the next, once its memory is known. `stage` is a folder for intermediate
    files."""

    before: Place
    here: Place
    marks: stream_order.Marks
    now: Memory
    skew_ms: int
    stage: str

    def add_up(self, heard: DataFrame, events: DataFrame) -> int:
        """Writes the state, and returns the largest `stepped_ms`. `heard`: moments of all messages that were open or
        are new."""
        gone = stream_state.gone_of(self.here.spark, self.now.gone)
        closing = staged(stream_state.closing(heard, gone, self.marks.settled_ms), f"{self.stage}/closing")
        steps = steps_of(heard, self.skew_ms).join(closing, "address").persist(StorageLevel.DISK_ONLY)
        lives = staged(with_fate(lives_of(steps), gone).join(closing, "address"), f"{self.stage}/lives")
        counts = staged(stream_state.counted(lives, steps, self.skew_ms), f"{self.stage}/counts")
        found = self._fifo(steps, lives, gone)
        stepped_ms = int(steps.agg(F.max("stepped_ms")).collect()[0][0] or 0)
        steps.unpersist()
        order = self._order(lives)
        self._latencies(lives)
        by = [*QUEUE, "is_closed"]
        found_by = findings_by(found.withColumnRenamed("is_settled", "is_closed"), by)
        parts = counts, order, found_by.drop("never_stored"), self._answered(lives, heard, events)
        new = staged(stream_state.added(*parts, by=by), f"{self.stage}/new")
        known, calls = self.before.read("totals", stream_state.TOTALS), empties(events, QUEUE)
        self.here.write("totals", stream_state.added(new.where("is_closed"), known, calls))
        self.here.write("begun", stream_state.added(new.where("NOT is_closed")))
        still_open = closing.where("NOT is_closed").select("address")
        self.here.write("open", heard.join(still_open, "address", "left_semi"))
        return stepped_ms

    def _fifo(self, steps: DataFrame, lives: DataFrame, gone: DataFrame) -> DataFrame:
        before_ms = self.marks.before_ms
        line = line_of(steps, lives, self.skew_ms, before_ms).where(F.col("time_ms") > before_ms)
        carried = self.before.read("carried", stream_fifo.CARRIED)
        told = stream_fifo.checked(line, carried, self.marks.settled_ms, 2 * self.skew_ms)
        told = staged(told, f"{self.stage}/fifo")
        self.here.write("carried", stream_fifo.carried_in(told, lives, gone, self.marks.settled_ms))
        return stream_fifo.findings_in(told)

    def _answered(self, lives: DataFrame, heard: DataFrame, events: DataFrame) -> DataFrame:
        settled_ms = self.marks.settled_ms
        answered = self.before.read("answered", stream_answered.ANSWERED)
        lately = self.before.read("lately", stream_answered.LATELY)
        unknown = stream_answered.unknown_of(answered, events, heard, lives, lately)
        unknown = staged(unknown, f"{self.stage}/unknown")
        self.here.write("answered", unknown.where(F.col("at_ms") > settled_ms))
        self.here.write("lately", stream_answered.lately_of(lately, lives, settled_ms))
        return stream_answered.counts_of(unknown, settled_ms, self.now.began_ms)

    def _order(self, lives: DataFrame) -> DataFrame:
        pending = self.before.read("pending", stream_order.PENDING)
        floors = self.before.read("floors", stream_order.FLOORS)
        part = stream_order.part_of(pending, floors, lives, self.marks, f"{self.stage}/order")
        self.here.write("pending", part.pending)
        self.here.write("floors", part.floors)
        return part.totals

    def _latencies(self, lives: DataFrame) -> None:
        new = staged(stream_latency.latencies_in(lives), f"{self.stage}/latencies")
        known = self.before.read("latencies", stream_latency.LATENCIES)
        over, begun = (new.where(F.col("is_closed") == is_over).drop("is_closed") for is_over in (True, False))
        self.here.write("latencies", stream_latency.added(known, over, self.now.latest_ms))
        self.here.write("latencies_begun", begun)


def _late_and_behind(moments: DataFrame, mark_ms: int) -> tuple[int, int]:
    """How many of them come too late, and how far a node's clock is behind that of its cache."""
    counts = (F.count_if(F.col("time_ms") <= mark_ms), absence.behind_ms())
    row = with_time(moments).agg(*counts).collect()[0]
    return row[0], row[1] or 0


def _contains(known: FileSummary, file: FileSummary) -> bool:
    """Whether a file read earlier has all lines of this one, and maybe more. Unknown (False) for a file without any
    line."""
    is_same = (known.node, known.incarnation) == (file.node, file.incarnation)
    return known.node != "" and is_same and known.first <= file.first and file.last <= known.last


def _merged(known: Gone, new: DataFrame) -> Gone:
    merged = dict(known)
    for row in new.collect():
        below, purged_ms, deleted_ms = merged.get(row["uid"], (None, None, None))
        merged[row["uid"]] = (
            max((one for one in (below, row["purged_below"]) if one is not None), default=None),
            max((one for one in (purged_ms, row["purged_ms"]) if one is not None), default=None),
            min((one for one in (deleted_ms, row["queue_deleted_ms"]) if one is not None), default=None),
        )
    return merged


def _set_aside(lines: DataFrame, folder: Path, count: int) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    if count:
        lines.where("is_bad").select("path", "text").write.parquet(str(folder))
