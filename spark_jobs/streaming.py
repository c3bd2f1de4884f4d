"""Audits continuously: a Structured Streaming job over finished journal files (`spark_jobs.stream_batch`).

Lines that come later than the delay allows are counted as late, never silently dropped; a message whose receive arrives
before the file with its send waits for that file as long. Figures are written to `figures.json`, for the console, and
to `cqs_audit.prom`, for node_exporter's textfile collector (`spark_jobs.stream_figures`).

    python -m spark_jobs.streaming FOLDER … [--output FOLDER] [--once] [--delay-ms N] [--clock-skew-ms N]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from spark_jobs.arguments import duration_ms, make_output, master, pattern_of, refuse_missing
from spark_jobs.errors import JobError
from spark_jobs.events import parsed
from spark_jobs.failures import SPARK_FAILURES, refused, why
from spark_jobs.open_files import FINISHED, left
from spark_jobs.session import DRIVER_MEMORY, ended, interruptible, session, settings_for
from spark_jobs.staged import gathered
from spark_jobs.stream_batch import Delays, settle
from spark_jobs.stream_figures import FIGURES, publish
from spark_jobs.unread_files import UnreadFiles

DELAY_MS = 1_200_000
"""Twice the age at which a node finishes a file: lines that are one file behind another node's are not late."""

FILE_AGE_MAX = "36500d"
"""Old files in the given folders are read too: by default Spark skips files a week older than the latest."""
_GOING_ON = {"spark.sql.shuffle.partitions": "2"}
"""A continuous stream will eventually read more than what exists at its start."""


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
    """The running query over the folders of all nodes; `is_once`: it ends when it has processed what exists now. With
    the same output it continues where it stopped, even if folders were added. On a journal of another version, the
    query fails with UnknownVersion's text."""
    raw = (
        spark.readStream.option("pathGlobFilter", FINISHED)
        .option("lineSep", "\n")
        .option("ignoreCorruptFiles", "true")
        .option("ignoreMissingFiles", "true")
        .option("maxFileAge", FILE_AGE_MAX)
        .format("text")
        .load(pattern_of(folders))
    )

    unread = UnreadFiles(folders)

    def step(lines: DataFrame, number: int) -> None:
        try:
            state, integrity = settle(gathered(lines).persist(), number, Path(output), Delays(delay_ms, skew_ms))
        except JobError:
            spark.sparkContext.setLogLevel("OFF")
            raise
        lines.unpersist()
        unended = left(folders, state.memory().mark_ms)
        publish(state, Path(output), replace(integrity, gaps=[*integrity.gaps, *unended, *unread.gaps()]))

    writer = parsed(raw).writeStream.foreachBatch(step).option("checkpointLocation", f"{output}/checkpoint")
    if is_once:
        return writer.trigger(availableNow=True).start()
    return writer.trigger(processingTime=f"{every_s} seconds").start()


def main(given: Sequence[str] | None = None) -> int:
    """Runs the command; returns its exit code."""
    parser = argparse.ArgumentParser(prog="python -m spark_jobs.streaming", description=__doc__.partition("\n")[0])
    parser.add_argument("folders", nargs="+", metavar="FOLDER", help="journal directory; name those of all nodes")
    parser.add_argument("--output", default="build/audit-stream", help="output directory (default: build/audit-stream)")
    parser.add_argument("--once", action="store_true", help="stop after the files that exist now")
    parser.add_argument(
        "--delay-ms",
        type=duration_ms,
        default=DELAY_MS,
        help=f"how late an event may be before it counts as late (default: {DELAY_MS})",
    )
    parser.add_argument(
        "--clock-skew-ms", type=duration_ms, default=0, help="tolerated difference between clocks (default: 0)"
    )
    parser.add_argument("--master", type=master, default="local[2]", help="Spark master (default: local[2])")
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
    figures = make_output(options.output) / FIGURES
    unread = settings_for(options.folders, figures.stat().st_mtime if figures.exists() else 0.0)
    if unread and not options.once:
        unread |= _GOING_ON
    spark = session("audit-stream", options.master, settings=unread)
    try:
        with interruptible(spark, "interrupted; the same command continues from here"):
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
