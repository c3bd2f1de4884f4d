"""`python -m tests`, which is `make test`: all tests, in four processes side by side.

    FAULTS        drills in one data centre, and others that wait for servers to start, die and recover
    WAITS         drills in two data centres, SDKs, browsers: they wait for half of their time
    SPARK         computes
    the others    compute; what they print comes first, and that of the three above at the end

Asked to stop, it asks all, and waits until they have ended what they started. They are also asked when it is killed.
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

from deploy.cluster.ports import STOP_SIGNALS, ends_with_parent, signals_held
from deploy.cluster.ring import CassandraFailed, fetch_jars
from tests.needs import missing_programs
from tests.sdk.toolchains import NotFetched, java_class_path

ROOT = Path(__file__).parents[1]
FAULTS = [
    "tests/drills",
    "tests/crash",
    "tests/integration/test_cluster.py",
    "tests/integration/test_make_test.py",
    "tests/integration/test_workers.py",
]
WAITS = ["tests/drills/test_datacenters.py", "tests/sdk", "tests/console/browser"]
SPARK = ["tests/spark"]


def _ignored(paths: Sequence[str]) -> list[str]:
    return [f"--ignore={path}" for path in paths]


RUNS = [_ignored([*FAULTS, *WAITS, *SPARK]), [*FAULTS, *_ignored(WAITS)], WAITS, SPARK]


def main(runs: Sequence[Sequence[str]] = RUNS) -> int:
    """The exit code of pytest, the worst of all. Each is given arguments; what the first prints is seen at once."""
    _fetch()
    print(f"{len(runs)} runs of pytest side by side; what all but the first print comes at the end.", flush=True)
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


def _fetch() -> None:
    """What several need and none has yet: two that fetch at once would share Maven's folder."""
    if not missing_programs(("mvn",)):
        for fetch in (fetch_jars, java_class_path):
            try:
                fetch()
            except (CassandraFailed, NotFetched) as error:
                print(error, file=sys.stderr)


def _pytest(arguments: Sequence[str], output: IO[bytes] | None) -> subprocess.Popen[bytes]:
    """In a session of its own: what a terminal tells all its processes, it is told once, by this one. It hears SIGINT
    also where this one was started without, as a shell's background is: this one has a handler by now."""
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
