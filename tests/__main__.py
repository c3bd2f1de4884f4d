"""`python -m tests`, which is `make test`: runs all tests, in four parallel pytest processes.

    FAULTS        drills on one Cassandra node at most, and other tests that wait for servers to start, die and recover;
                  then a part of Spark's, which take the longest
    WAITS         drills on several Cassandra nodes, SDKs, browsers: idle for half of their time
    SPARK         CPU-bound
    the rest      CPU-bound; its output is shown as it runs, that of the other three at the end

On a stop signal it interrupts all four and waits until they have stopped what they started. They are also interrupted
if it is killed.
"""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from types import FrameType
from typing import IO

from deploy.cluster import jars
from deploy.cluster.jars import CassandraFailed
from deploy.cluster.ports import STOP_SIGNALS, ends_with_parent, signals_held
from deploy.cluster.ring import keep_classes
from spark_jobs.session import ARCHIVE
from tests.needs import missing_programs
from tests.sdk.toolchains import NotFetched, java_class_path

ROOT = Path(__file__).parents[1]
FAULTS = [
    "tests/drills",
    "tests/crash",
    "tests/integration/test_cluster.py",
    "tests/integration/test_make_test.py",
    "tests/integration/test_workers.py",
    "tests/spark/test_stream_late.py",
]
WAITS = [
    "tests/drills/test_datacenters.py",
    "tests/drills/test_rings.py",
    "tests/sdk",
    "tests/console/browser",
]
SPARK = ["tests/spark"]


def _ignored(paths: Sequence[str]) -> list[str]:
    return [f"--ignore={path}" for path in paths]


RUNS = [_ignored([*FAULTS, *WAITS, *SPARK]), [*FAULTS, *_ignored(WAITS)], WAITS, [*SPARK, *_ignored(FAULTS)]]


def main(runs: Sequence[Sequence[str]] = RUNS) -> int:
    """Runs pytest once for each list of arguments and returns the highest exit code. Shows the first run's output at
    once."""
    _prepare()
    print(f"{len(runs)} parallel runs of pytest; the output of all but the first is shown at the end.", flush=True)
    running: list[subprocess.Popen[bytes]] = []

    def ask(number: int, frame: FrameType | None) -> None:
        for each in running:
            each.send_signal(signal.SIGINT)

    with ExitStack() as stack:
        printed = [stack.enter_context(tempfile.TemporaryFile()) for _ in runs[1:]]
        with signals_held():
            for number in STOP_SIGNALS:
                if number != signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN:
                    signal.signal(number, ask)
            running += map(_pytest, runs, [None, *printed])
        codes = [process.wait() for process in running]
        for file in printed:
            file.seek(0)
            shutil.copyfileobj(file, sys.stdout.buffer)
        sys.stdout.flush()
    return max(map(abs, codes))


def _prepare() -> None:
    """Downloads what several runs need, before they start: parallel downloads would share Maven's folder. And keeps the
    classes of the JVMs that they start by dozens."""
    spark = None
    if not missing_programs(("java",)) and not ARCHIVE.exists():
        command = [sys.executable, "-m", "spark_jobs.kept_classes"]
        spark = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.DEVNULL, preexec_fn=ends_with_parent())
    if not missing_programs(("java", "mvn")):
        for prepare in (jars.fetch, java_class_path, keep_classes):
            try:
                prepare()
            except (CassandraFailed, NotFetched) as error:
                print(error, file=sys.stderr)
    if spark is not None and spark.wait():
        print("Spark's classes are not kept: python -m spark_jobs.kept_classes says why", file=sys.stderr)


def _pytest(arguments: Sequence[str], output: IO[bytes] | None) -> subprocess.Popen[bytes]:
    """Starts pytest in its own session, so that it gets a terminal's signals only once, from this process. It does not
    ignore SIGINT even if this process was started with SIGINT ignored, as a shell's background job is, because this
    process has installed a handler by now."""
    return subprocess.Popen(
        [sys.executable, "-m", "pytest", "--durations=25", *arguments],
        cwd=ROOT,
        stdout=output,
        stderr=output and subprocess.STDOUT,
        start_new_session=True,
        preexec_fn=ends_with_parent(signal.SIGINT),
    )


if __name__ == "__main__":
    sys.exit(main())
