"""`make audit`: runs servers and a workload, then proves what became of every message, in one command.

    cqs serve --journal full … ◄── replay (Spark) ──► observations
         │ stopped                                       │
         ├── journals ──► audit ──► verdict ◄── Jepsen ◄─┘
         └── store ─────► reconcile ─┘      └──► report.html

    python -m spark_jobs.proof [--workload cqs-50 | --recorded FOLDER] [--messages 2000] [--output FOLDER]
        [--cassandra HOST:PORT --redis URL --nodes 2]          nodes of a cluster instead of one server on SQLite
        [--endpoint URL --journal FOLDER]                      servers that are already running

The last line is the verdict; exit code 0 proven, 1 violated, 3 unproven, 2 failed to run, 130 or 143 interrupted.
"""

from __future__ import annotations

import argparse
import secrets
import shlex
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from pyspark.sql import SparkSession

from spark_jobs.arguments import (
    count,
    count_of_some,
    duration_ms,
    endpoint,
    heap,
    literal,
    make_output,
    master,
    refuse_missing,
    speed,
)
from spark_jobs.audit import Audit, Rules, audit
from spark_jobs.client import CallFailed, OutcomeUnknown
from spark_jobs.comparison import read_figures
from spark_jobs.errors import JobError
from spark_jobs.events import read_journal
from spark_jobs.failures import SPARK_FAILURES, refused, why
from spark_jobs.faults import faults_by_span, faults_of
from spark_jobs.jepsen import total_queue
from spark_jobs.recorded import replay_recorded, sends_in, what_is_played
from spark_jobs.replay import replay
from spark_jobs.report import forget_report, write_report
from spark_jobs.servers import Target, end_on_sigterm, own_nodes, own_server
from spark_jobs.session import DRIVER_MEMORY, SMALL, ended, interruptible, session
from spark_jobs.store_options import add_store_arguments, keyspace_of, refuse_unreadable, store_settings, stored_of
from spark_jobs.verdict import EXIT_CODES, last_line, with_clients
from spark_jobs.workload import Workload, named

SPAN_MS = 1_000
SMALL_MAX = 200_000
"""Runs with fewer messages end before Spark's compilers pay off."""


@dataclass(frozen=True, slots=True)
class Run:
    """What to run, as `options` say. `workload` None: a recorded journal is played."""

    options: argparse.Namespace
    name: str
    command: str
    workload: Workload | None
    before: dict[str, Any] | None

    @property
    def observations(self) -> str:
        """The folder of the observations."""
        return f"{self.options.output}/observations"


def main(given: Sequence[str] | None = None) -> int:
    """Runs the command; returns its exit code."""
    options = _arguments(given)
    command = shlex.join(["python", "-m", "spark_jobs.proof", *(sys.argv[1:] if given is None else given)])
    try:
        return _proven(_planned(options, command))
    except JobError as error:
        return refused(str(error))
    except (CallFailed, OutcomeUnknown) as error:
        return refused(f"{' or '.join(options.endpoint or ['the server'])} failed: {error}")
    except SPARK_FAILURES as error:
        return refused(why(error, options.memory))


def check(given: Sequence[str]) -> None:
    """Rejects what can be rejected before anything starts. Raises JobError; SystemExit for --help and wrong usage."""
    _planned(_arguments(given), "")


def _planned(options: argparse.Namespace, command: str) -> Run:
    _refuse_ignored(options)
    workload = None if options.recorded else _workload(options)
    stamp = f"{datetime.now(UTC):%Y%m%dT%H%M%S}_{secrets.token_hex(2)}"
    name = f"{workload.name.replace('.', '_') if workload else 'recorded'}-{stamp}"
    options.keyspace = options.keyspace or ("cqs" if options.endpoint else f"audit_{stamp.lower()}")
    refuse_missing([*(options.recorded or ()), *(options.journal or ())])
    before = read_figures(options.compare) if options.compare else None
    make_output(options.output)
    forget_report(options.output)
    return Run(options, name, command, workload, before)


def _arguments(given: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m spark_jobs.proof", description=__doc__.partition("\n")[0])
    played = parser.add_mutually_exclusive_group()
    played.add_argument("--workload", default="cqs-50", help="published workload, or .toml file (default: cqs-50)")
    played.add_argument("--recorded", action="append", metavar="FOLDER", help="replay the sends of this journal")
    parser.add_argument(
        "--messages", type=count, default=2_000, help="scale it to about so many (default: 2000); 0 = all"
    )
    parser.add_argument("--quit", type=float, metavar="P", help="probability that a receiver quits before deleting")
    parser.add_argument("--drop", type=float, metavar="P", help="probability that a call is lost")
    parser.add_argument("--speed", type=speed, default=1.0, help="of the replay; 0 = as fast as possible")
    parser.add_argument("--endpoint", type=endpoint, action="append", metavar="URL", help="use this running server")
    parser.add_argument("--journal", action="append", metavar="FOLDER", help="journal directory of that server")
    add_store_arguments(parser)
    parser.set_defaults(keyspace="")
    parser.add_argument("--redis", default="spawn", metavar="URL", help="Redis of the nodes (default: private)")
    parser.add_argument("--nodes", type=count_of_some, default=1, help="API nodes to start (default: 1)")
    parser.add_argument("--output", default="build/audit", help="output directory (default: build/audit)")
    parser.add_argument("--compare", metavar="FOLDER", help="output of an earlier run")
    parser.add_argument("--master", type=master, default="local[4]", help="Spark master (default: local[4])")
    parser.add_argument(
        "--memory", type=heap, default=DRIVER_MEMORY, help=f"heap of the JVM (default: {DRIVER_MEMORY})"
    )
    parser.add_argument("--clock-skew-ms", type=duration_ms, default=0, help="tolerated clock difference (default: 0)")
    options = parser.parse_args(given)
    if bool(options.endpoint) != bool(options.journal):
        parser.error("--endpoint and --journal go together")
    if options.nodes > 1 and options.redis == "spawn":
        parser.error("several nodes share one Redis: name it with --redis")
    return options


def _refuse_ignored(options: argparse.Namespace) -> None:
    """Rejects options that would have no effect. Raises JobError."""
    if options.recorded and (options.quit is not None or options.drop is not None):
        raise JobError("--quit and --drop go with --workload: what was recorded is played without faults.")
    if options.data_dir:
        raise JobError(
            "--data-dir has no effect here: a server that this command starts is reconciled without it; for your own, "
            f"run afterwards: python -m spark_jobs {' '.join(options.journal or ['JOURNAL'])} --since 1h --data-dir "
            f"{options.data_dir}"
        )


def _workload(options: argparse.Namespace) -> Workload:
    workload = named(options.workload)
    if options.messages:
        workload = workload.scaled(options.messages)
    chosen = {"quit_probability": options.quit, "drop_probability": options.drop}
    return replace(workload, **{name: value for name, value in chosen.items() if value is not None})


def _proven(run: Run) -> int:
    is_small = run.workload is None or run.workload.total < SMALL_MAX
    refuse_unreadable(run.options)
    settings = (SMALL if is_small else {}) | store_settings(run.options)
    spark = session("audit", run.options.master, memory=run.options.memory, settings=settings)
    try:
        with interruptible(spark):
            with _target(run.options) as target:
                _play(spark, run, target)
            found = _judged(spark, run, target)
    finally:
        ended(spark)
    return EXIT_CODES[found.verdict.state]


def _target(options: argparse.Namespace) -> AbstractContextManager[Target]:
    output = make_output(options.output)
    if options.endpoint:
        return nullcontext(Target(tuple(options.endpoint), tuple(options.journal)))
    if options.cassandra:
        return own_nodes(output, keyspace_of(options), options.redis, options.nodes)
    return own_server(output)


def _play(spark: SparkSession, run: Run, target: Target) -> None:
    where = " and ".join(target.endpoints)
    if run.workload is not None:
        _tell(f"playing {run.workload.total} messages of {run.workload.name} against {where}")
        replay(spark, run.workload, target.endpoints, run.name, run.observations, tell=_tell)
        return
    speed = run.options.speed
    recorded = read_journal(spark, run.options.recorded, f"{run.options.output}/recorded")
    sends = sends_in(recorded.events)
    _tell(f"playing {what_is_played(sends, recorded, run.options.recorded, speed)} against {where}")
    replay_recorded(spark, sends, target.endpoints, run.name, run.observations, speed=speed, tell=_tell)


def _judged(spark: SparkSession, run: Run, target: Target) -> Audit:
    _tell("auditing")
    options = run.options
    is_drained = run.workload is None or run.workload.receivers > 0
    rules = Rules(
        is_drained=is_drained,
        has_all_nodes=options.all_nodes or not options.endpoint,
        skew_ms=options.clock_skew_ms,
        bucket_ms=SPAN_MS,
    )
    found = audit(spark, target.journals, options.output, rules, stored_of(spark, options, target.data_dir))
    seen = spark.read.parquet(literal(run.observations)).where(f"run = '{run.name}'")
    clients = total_queue(seen)
    found = replace(found, verdict=with_clients(found.verdict, clients, is_drained=is_drained))
    faults = faults_of(run.workload, seen)
    page = write_report(
        found,
        options.output,
        title=run.name,
        command=run.command,
        jepsen=clients,
        faults=faults,
        faults_by_span=faults_by_span(seen, SPAN_MS),
        before=run.before,
    )
    _tell(*faults, *found.verdict.reasons)
    sys.stdout.write(last_line(found.totals, found.verdict, page) + "\n")
    return found


def _tell(*lines: str) -> None:
    for line in lines:
        sys.stderr.write(f"audit: {line}\n")


if __name__ == "__main__":
    end_on_sigterm()
    sys.exit(main())
