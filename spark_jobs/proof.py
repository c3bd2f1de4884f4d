"""`make audit`: a server, a workload, and the proof of what became of every message, in one command.

    cqs serve --journal full ◄── replay (Spark) ──► observations
         │ stopped                                       │
         ├── journal ──► audit ──► verdict ◄── Jepsen ◄──┘
         └── messages.db ──► reconcile ─┘      └──► report.html

    python -m spark_jobs.proof [--workload cqs-50] [--messages 2000] [--endpoint URL --journal FOLDER] [--output FOLDER]

With `--endpoint` it plays against a server that runs already, whose journal is then read as it is. The last line is the
verdict; exit code 0 proven, 1 violated, 3 unproven, 2 wrong usage.
"""

from __future__ import annotations

import argparse
import contextlib
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from urllib.request import urlopen

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_jobs.audit import Rules, audit
from spark_jobs.errors import JobError
from spark_jobs.jepsen import total_queue
from spark_jobs.replay import replay
from spark_jobs.report import read_figures, write_report
from spark_jobs.session import SMALL, session
from spark_jobs.stored import in_sqlite
from spark_jobs.verdict import EXIT_CODES, last_line
from spark_jobs.workload import Workload, named

SPAN_MS = 1_000
SMALL_MAX = 200_000
"""Runs of fewer messages are over before Spark's compilers are."""
START_S_MAX = 60


class NoServer(JobError):
    """The server did not start, or can't be reached."""


@dataclass(frozen=True, slots=True)
class Target:
    """What is played against. `data_dir` "" = its store is not ours to read."""

    endpoint: str
    journal: str
    data_dir: str


def main(given: Sequence[str] | None = None) -> int:
    """The command; its exit code."""
    options = _arguments(given)
    try:
        workload = _workload(options)
        return _proven(options, workload, shlex.join(["python", "-m", "spark_jobs.proof", *(given or sys.argv[1:])]))
    except JobError as error:
        sys.stderr.write(f"audit: {error}\n")
        return 2


def _arguments(given: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m spark_jobs.proof", description=__doc__.partition("\n")[0])
    parser.add_argument("--workload", default="cqs-50", help="a published one, or a .toml file (default: cqs-50)")
    parser.add_argument("--messages", type=int, default=2_000, help="scaled to about so many (default: 2000); 0 = all")
    parser.add_argument("--quit", type=float, metavar="P", help="receivers quit before they delete, with probability P")
    parser.add_argument("--drop", type=float, metavar="P", help="calls are lost with probability P")
    parser.add_argument("--endpoint", help="play against this server instead of starting one")
    parser.add_argument("--journal", help="the journal folder of that server")
    parser.add_argument("--data-dir", default="", help="its data folder, to reconcile with its store")
    parser.add_argument("--output", default="build/audit", help="where everything is written (default: build/audit)")
    parser.add_argument("--compare", metavar="FOLDER", help="an earlier output to compare with")
    parser.add_argument("--master", default="local[4]", help="where Spark runs (default: local[4])")
    parser.add_argument("--clock-skew-ms", type=int, default=0, help="how far clocks may differ (default: 0)")
    options = parser.parse_args(given)
    if bool(options.endpoint) != bool(options.journal):
        parser.error("--endpoint and --journal go together")
    return options


def _workload(options: argparse.Namespace) -> Workload:
    workload = named(options.workload)
    if options.messages:
        workload = workload.scaled(options.messages)
    chosen = {"quit_probability": options.quit, "drop_probability": options.drop}
    return replace(workload, **{name: value for name, value in chosen.items() if value is not None})


def _proven(options: argparse.Namespace, workload: Workload, command: str) -> int:
    output = Path(options.output)
    run = f"{workload.name.replace('.', '_')}-{datetime.now(UTC):%Y%m%dT%H%M%S}"
    before = read_figures(options.compare) if options.compare else None
    spark = session("audit", options.master, settings=SMALL if workload.total < SMALL_MAX else None)
    try:
        with _target(options, output) as target:
            _tell(f"playing {workload.total} messages of {workload.name} against {target.endpoint}")
            replay(spark, workload, target.endpoint, run, str(output / "observations"), tell=_tell)
        return _judged(spark, options, target, workload, run, command, before)
    finally:
        spark.stop()


def _judged(
    spark: SparkSession,
    options: argparse.Namespace,
    target: Target,
    workload: Workload,
    run: str,
    command: str,
    before: dict[str, object] | None,
) -> int:
    _tell("auditing")
    rules = Rules(is_drained=True, skew_ms=options.clock_skew_ms, bucket_ms=SPAN_MS)
    stored = in_sqlite(spark, target.data_dir) if target.data_dir else None
    found = audit(spark, [target.journal], options.output, rules, stored)
    seen = spark.read.parquet(f"{options.output}/observations").where(f"run = '{run}'")
    page = write_report(
        found,
        options.output,
        title=run,
        command=command,
        jepsen=total_queue(seen),
        faults=_faults(workload),
        faults_by_span=_faults_by_span(seen),
        before=before,
    )
    _tell(*found.verdict.reasons)
    sys.stdout.write(last_line(found.totals, found.verdict, page) + "\n")
    return EXIT_CODES[found.verdict.state]


def _faults(workload: Workload) -> list[str]:
    told = {
        "receivers quit before they delete": workload.quit_probability,
        "calls lose their request or their answer": workload.drop_probability,
    }
    return [f"{text}, with probability {probability:g}" for text, probability in told.items() if probability]


def _faults_by_span(seen: DataFrame) -> dict[int, int]:
    made = seen.where("outcome IN ('quit', 'unknown')")
    counted = made.groupBy((F.floor(F.col("at_ms") / SPAN_MS) * SPAN_MS).alias("from_ms")).count()
    return {row["from_ms"]: row["count"] for row in counted.collect()}


@contextlib.contextmanager
def _target(options: argparse.Namespace, output: Path) -> Iterator[Target]:
    """A server of our own until the end of the block, unless one was named."""
    if options.endpoint:
        yield Target(options.endpoint, options.journal, options.data_dir)
        return
    data_dir = output / "data"
    shutil.rmtree(data_dir, ignore_errors=True)
    data_dir.mkdir(parents=True)
    log_path = output / "server.log"
    command = [sys.executable, "-m", "cqs", "serve", "--port", "0", "--data-dir", str(data_dir), "--journal", "full"]
    with log_path.open("wb") as log:
        server = subprocess.Popen([*command, "--log-format", "json"], stdout=log, stderr=log)
    try:
        yield Target(_endpoint(server, log_path), str(data_dir / "journal"), str(data_dir))
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait()


def _endpoint(server: subprocess.Popen[bytes], log_path: Path) -> str:
    """The endpoint, once it answers. Raises NoServer."""
    until_s = time.monotonic() + START_S_MAX
    while time.monotonic() < until_s and server.poll() is None:
        for line in log_path.read_text().splitlines():
            if '"event":"serving"' in line:
                endpoint = line.partition('"endpoint":"')[2].partition('"')[0]
                with contextlib.suppress(OSError), urlopen(f"{endpoint}/ready", timeout=5):
                    return endpoint
        time.sleep(0.1)
    raise NoServer(f"the server did not start; its log is {log_path}")


def _tell(*lines: str) -> None:
    for line in lines:
        sys.stderr.write(f"audit: {line}\n")


if __name__ == "__main__":
    sys.exit(main())
