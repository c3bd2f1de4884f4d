"""The audit while it happens: a Structured Streaming job over finished journal files (`spark_jobs.stream_state`).

State n is made of state n-1 and batch n alone, and kept under its number, so that a batch which runs again after a
crash gives the same. The watermark is the latest time seen, less a delay: what comes for a message that was added to
the totals before is counted as late, never in silence; a message that was received here before the file comes that
tells of its send waits for it as long. Figures go to `figures.json`, for the console, and to
`cqs_audit.prom`, for Prometheus' textfile collector.

    python -m spark_jobs.streaming FOLDER … [--output FOLDER] [--once] [--delay-ms N] [--clock-skew-ms N]
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from cqs.events import EventName
from spark_jobs.arguments import duration_ms, make_output, pattern_of, refuse_missing
from spark_jobs.compressed import with_torn
from spark_jobs.errors import JobError
from spark_jobs.events import FINISHED, events_in, parsed, refuse_unknown_versions, summaries_of
from spark_jobs.failures import SPARK_FAILURES, refused, why
from spark_jobs.findings import Kind
from spark_jobs.integrity import FileSummary, Integrity
from spark_jobs.integrity import judge as judge_files
from spark_jobs.prometheus import text_of
from spark_jobs.session import DRIVER_MEMORY, ended, interruptible, session
from spark_jobs.stream_state import COUNTS, OPEN, TOTALS, added, counted, is_closed, merged, opened
from spark_jobs.tables import is_event
from spark_jobs.verdict import State, Totals, Verdict, judge

STATES_KEPT = 3
DELAY_MS = 600_000
FIGURES, METRICS = "figures.json", "cqs_audit.prom"
_ALL_GENERATIONS = 1 << 40


@dataclass(frozen=True, slots=True)
class Memory:
    """What a state knows besides messages; small: one entry a file and a purged queue."""

    files: list[FileSummary] = field(default_factory=list)
    gone_below: dict[int, int] = field(default_factory=dict)
    latest_ms: int = 0


def start(
    spark: SparkSession,
    folders: Sequence[str],
    output: str,
    *,
    is_once: bool,
    delay_ms: int = DELAY_MS,
    skew_ms: int = 0,
    every_s: int = 10,
) -> StreamingQuery:
    """The running query over the folders of all nodes; `is_once`: it ends when it has done what is there now. The same
    output goes on where it stopped, also when folders were added. The query fails with UnknownVersion's text on a
    journal of another version."""
    raw = (
        spark.readStream.option("pathGlobFilter", FINISHED)
        .option("lineSep", "\n")
        .option("ignoreCorruptFiles", "true")
        .format("text")
        .load(pattern_of(folders))
    )

    def step(lines: DataFrame, number: int) -> None:
        try:
            _step(lines.persist(), number, Path(output), delay_ms, skew_ms)
        except JobError:
            spark.sparkContext.setLogLevel("OFF")
            raise
        lines.unpersist()

    writer = parsed(raw).writeStream.foreachBatch(step).option("checkpointLocation", f"{output}/checkpoint")
    if is_once:
        return writer.trigger(availableNow=True).start()
    return writer.trigger(processingTime=f"{every_s} seconds").start()


def _step(lines: DataFrame, number: int, output: Path, delay_ms: int, skew_ms: int) -> None:
    spark, states = lines.sparkSession, output / "states"
    before, here = states / str(number - 1), states / str(number)
    memory = _remembered(before)
    refuse_unknown_versions(lines)
    new = with_torn(spark, summaries_of(lines))
    copies = [file.path for file in new if any(_contains(known, file) for known in memory.files)]
    files = [*memory.files, *(file for file in new if file.path not in copies)]
    integrity = judge_files(files, is_running=True)
    events = events_in(lines, integrity).where(~F.col("path").isin(copies))
    latest_ms = max([memory.latest_ms, *(file.last_ms for file in files)])
    gone_below = memory.gone_below | _gone_in(events)
    messages = merged(_state(spark, before / "open", OPEN), opened(events)).persist()
    closed = is_closed(latest_ms - delay_ms, gone_below)
    totals = added(_state(spark, before / "totals", TOTALS), counted(messages.where(closed), skew_ms))
    totals.write.mode("overwrite").parquet(str(here / "totals"))
    messages.where(~closed).write.mode("overwrite").parquet(str(here / "open"))
    messages.unpersist()
    (here / "memory.json").write_text(json.dumps(asdict(Memory(files, gone_below, latest_ms))))
    _publish(spark, here, output, integrity, latest_ms - delay_ms, skew_ms)
    shutil.rmtree(states / str(number - STATES_KEPT), ignore_errors=True)


def _contains(known: FileSummary, file: FileSummary) -> bool:
    """The lines of a file read earlier are those of this one and maybe more."""
    is_same = (known.node, known.incarnation) == (file.node, file.incarnation)
    return is_same and known.first <= file.first and file.last <= known.last


def _remembered(state: Path) -> Memory:
    path = state / "memory.json"
    if not path.exists():
        return Memory()
    known = json.loads(path.read_text())
    return Memory(
        [FileSummary(**file) for file in known["files"]],
        {int(uid): generation for uid, generation in known["gone_below"].items()},
        known["latest_ms"],
    )


def _state(spark: SparkSession, path: Path, schema: str) -> DataFrame:
    return spark.read.schema(schema).parquet(str(path)) if path.exists() else spark.createDataFrame([], schema)


def _gone_in(events: DataFrame) -> dict[int, int]:
    ends = events.where(is_event(EventName.PURGED, EventName.QUEUE_DELETED))
    below = F.when(is_event(EventName.QUEUE_DELETED), _ALL_GENERATIONS).otherwise(F.col("generation"))
    return {row["uid"]: row["below"] for row in ends.groupBy("uid").agg(F.max(below).alias("below")).collect()}


def _publish(
    spark: SparkSession, here: Path, output: Path, integrity: Integrity, watermark_ms: int, skew_ms: int
) -> None:
    still_open = _state(spark, here / "open", OPEN)
    begun = counted(still_open.where("is_known"), skew_ms)
    rows = [row.asDict() for row in added(_state(spark, here / "totals", TOTALS), begun).collect()]
    waiting = still_open.where("is_known AND received = given_back AND NOT is_ended").count()
    summed = {name: sum(row[name] for row in rows) for name in COUNTS}
    found = {Kind.CORRUPTED: "corrupted", Kind.RESURRECTED: "resurrected"}
    totals = Totals(
        **{name: summed[name] for name in ("acknowledged", "received", "deleted", "ended_otherwise", "duplicates")},
        holes=waiting + summed["late"],
        found={kind.value: summed[name] for kind, name in found.items()} | {Kind.NOT_RECEIVED.value: waiting},
    )
    verdict = with_late(judge(totals, integrity, is_drained=False), summed["late"])
    figures = {"verdict": asdict(verdict), "totals": summed, "waiting": waiting, "queues": rows}
    figures |= {
        "watermark_ms": watermark_ms,
        "bad_lines": integrity.bad,
        "gaps": [asdict(gap) for gap in integrity.gaps],
    }
    _replace(output / FIGURES, json.dumps(figures))
    _replace(output / METRICS, _metrics(rows, waiting, verdict, integrity))


def with_late(verdict: Verdict, late: int) -> Verdict:
    """Nothing is proven of messages whose beginning was added up before, or never told of: this job can't say which."""
    if not late:
        return verdict
    doubt = f"{late} messages were heard of too late, or nobody sent them: python -m spark_jobs tells which"
    if verdict.state is State.PROVEN:
        return Verdict(State.UNPROVEN, None, (doubt,))
    return replace(verdict, reasons=(*verdict.reasons, doubt))


def _metrics(rows: Sequence[dict[str, Any]], waiting: int, verdict: Verdict, integrity: Integrity) -> str:
    names = ("account", "queue")
    series: dict[str, list[tuple[dict[str, str], float]]] = {
        f"cqs_audit_{name}": [({label: str(row[label]) for label in names}, row[name]) for row in rows]
        for name in COUNTS
    }
    series["cqs_audit_waiting"] = [({}, waiting)]
    series["cqs_audit_gaps"] = [({}, len(integrity.gaps))]
    series["cqs_audit_bad_lines"] = [({}, integrity.bad)]
    series["cqs_audit_verdict"] = [({"state": verdict.state.value}, 1)]
    return text_of(series)


def _replace(path: Path, text: str) -> None:
    part = path.with_suffix(".part")
    part.write_text(text)
    os.replace(part, path)


def main(given: Sequence[str] | None = None) -> int:
    """The command; its exit code."""
    parser = argparse.ArgumentParser(prog="python -m spark_jobs.streaming", description=__doc__.partition("\n")[0])
    parser.add_argument("folders", nargs="+", metavar="FOLDER", help="a journal's folder; name those of all nodes")
    parser.add_argument("--output", default="build/audit-stream", help="(default: build/audit-stream)")
    parser.add_argument("--once", action="store_true", help="end when what is there now is done")
    parser.add_argument(
        "--delay-ms", type=duration_ms, default=DELAY_MS, help=f"of the watermark (default: {DELAY_MS})"
    )
    parser.add_argument("--clock-skew-ms", type=duration_ms, default=0, help="how far clocks may differ (default: 0)")
    parser.add_argument("--master", default="local[2]", help="where Spark runs (default: local[2])")
    options = parser.parse_args(given)
    try:
        _run(options)
    except JobError as error:
        return refused(str(error))
    except SPARK_FAILURES as error:
        return refused(why(error, DRIVER_MEMORY))
    return 0


def _run(options: argparse.Namespace) -> None:
    refuse_missing(options.folders)
    make_output(options.output)
    spark = session("audit-stream", options.master)
    try:
        with interruptible(spark, "interrupted; the same command goes on from here"):
            start(
                spark,
                options.folders,
                options.output,
                is_once=options.once,
                delay_ms=options.delay_ms,
                skew_ms=options.clock_skew_ms,
            ).awaitTermination()
    finally:
        ended(spark)


if __name__ == "__main__":
    sys.exit(main())
