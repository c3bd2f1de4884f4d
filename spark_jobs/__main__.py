"""`python -m spark_jobs FOLDER …`: audits journals and writes the report. The last line is the verdict; exit code 0
proven, 1 violated, 3 unproven, 2 failed to run, 130 or 143 interrupted. On a cluster: `spark-submit
spark_jobs/__main__.py FOLDER …`, with spark_jobs and cqs in --py-files (docs/audit.md)."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Sequence
from functools import partial

from pyspark.sql import SparkSession

from spark_jobs.arguments import duration_ms, heap, make_output, master, refuse_missing, span_ms
from spark_jobs.audit import Audit, Rules, audit
from spark_jobs.comparison import read_figures
from spark_jobs.errors import JobError
from spark_jobs.failures import SPARK_FAILURES, refused, why
from spark_jobs.latency import HOUR_MS
from spark_jobs.report import forget_report, write_report
from spark_jobs.running import Asked, add_window_arguments, now_ms, read_in_order, refuse_ahead
from spark_jobs.session import DRIVER_MEMORY, ended, interruptible, session, settings_for
from spark_jobs.store_options import add_store_arguments, refuse_unreadable, store_settings, stored_of
from spark_jobs.verdict import EXIT_CODES, last_line


def main(given: Sequence[str] | None = None) -> int:
    """Runs the command; returns its exit code."""
    options = _arguments(given)
    command = shlex.join(["python", "-m", "spark_jobs", *(given or sys.argv[1:])])
    try:
        found, page = _audited(options, command)
    except JobError as error:
        return refused(str(error))
    except SPARK_FAILURES as error:
        return refused(why(error, options.memory))
    for reason in found.verdict.reasons:
        sys.stderr.write(f"audit: {reason}\n")
    sys.stdout.write(last_line(found.totals, found.verdict, page) + "\n")
    return EXIT_CODES[found.verdict.state]


def _audited(options: argparse.Namespace, command: str) -> tuple[Audit, str]:
    """The audit, and the path of its report."""
    refuse_missing(options.folders)
    before = read_figures(options.compare) if options.compare else None
    make_output(options.output)
    forget_report(options.output)
    asked = Asked.of(options)
    refuse_unreadable(options, is_running=asked is not None)
    read_from_s = asked.window(now_ms(), None).reach.files_from_ms / 1_000 if asked else 0.0
    settings = settings_for(options.folders, read_from_s) | store_settings(options)
    spark = session("audit", options.master, memory=options.memory, settings=settings)
    try:
        with interruptible(spark):
            found = audited(spark, options)
            return found, write_report(found, options.output, title=options.title, command=command, before=before)
    finally:
        ended(spark)


def audited(spark: SparkSession, options: argparse.Namespace) -> Audit:
    """Runs the audit that the options describe. With servers still running, what is stored is read before the journals.
    Raises JobError."""
    asked, window = Asked.of(options), None
    if asked is None:
        stored = stored_of(spark, options, options.data_dir)
    else:
        ask = partial(stored_of, spark, options, options.data_dir, is_running=True)
        stored, window = read_in_order(ask, asked, options.folders, f"{options.output}/stage/store", options.fetch)
    rules = Rules(
        is_drained=options.drained,
        has_all_nodes=options.all_nodes or bool(options.data_dir),
        skew_ms=options.clock_skew_ms,
        bucket_ms=options.span_ms,
        window=window,
    )
    found = audit(spark, options.folders, options.output, rules, stored)
    if window is not None:
        refuse_ahead(found.until_ms, options.clock_skew_ms)
    return found


def _arguments(given: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m spark_jobs", description="Audit event journals.")
    parser.add_argument("folders", nargs="+", metavar="FOLDER", help="journal directory; name those of all nodes")
    parser.add_argument("--output", default="build/audit", help="output directory (default: build/audit)")
    parser.add_argument("--title", default="audit", help="title of the report")
    parser.add_argument(
        "--drained",
        action="store_true",
        help="receivers continued until the queues were empty: what was not received is lost",
    )
    add_window_arguments(parser)
    add_store_arguments(parser)
    parser.add_argument(
        "--clock-skew-ms", type=duration_ms, default=0, help="tolerated difference between clocks (default: 0)"
    )
    parser.add_argument(
        "--span-ms", type=span_ms, default=HOUR_MS, help="interval of the plots over time (default: an hour)"
    )
    parser.add_argument("--compare", metavar="FOLDER", help="output directory of an earlier run to compare with")
    parser.add_argument("--master", type=master, default="local[2]", help="Spark master (default: local[2])")
    parser.add_argument(
        "--memory", type=heap, default=DRIVER_MEMORY, help=f"heap of the JVM (default: {DRIVER_MEMORY})"
    )
    return parser.parse_args(given)


if __name__ == "__main__":
    sys.exit(main())
