"""`python -m tests`, which is `make test`: all tests, in two processes side by side.

    WAITING       drills, and others that wait for servers to start, die and recover; what they print comes at the end
    the others    compute

Asked to stop, it asks both, and waits until they have ended what they started. They are also asked when it is killed.
"""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import IO

from deploy.cluster.ports import STOP_SIGNALS, ends_with_parent, signals_held
from deploy.cluster.ring import CassandraFailed, fetch_jars
from tests.needs import missing_programs

ROOT = Path(__file__).parents[1]
WAITING = [
    "tests/drills",
    "tests/crash",
    "tests/integration/test_cluster.py",
    "tests/integration/test_make_test.py",
    "tests/integration/test_workers.py",
    "tests/console/browser",
]
"""So many that each of the two takes half of the time."""
OTHERS = [word for path in WAITING for word in ("--ignore", path)]


def main(waiting: Sequence[str] = WAITING, others: Sequence[str] = OTHERS) -> int:
    """The exit code of pytest, the worse one of both. They are given the arguments."""
    _fetch()
    print("Two runs of pytest side by side; what the one with the drills prints comes at the end.", flush=True)
    running: list[subprocess.Popen[bytes]] = []

    def ask(number: int, frame: FrameType | None) -> None:
        for each in running:
            each.send_signal(signal.SIGINT)

    with tempfile.TemporaryFile() as printed:
        with signals_held():
            for number in STOP_SIGNALS:
                if number != signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN:
                    signal.signal(number, ask)
            running += [_pytest(waiting, printed), _pytest(others, None)]
        codes = [process.wait() for process in running]
        printed.seek(0)
        shutil.copyfileobj(printed, sys.stdout.buffer)
        sys.stdout.flush()
    return max(map(abs, codes))


def _fetch() -> None:
    """What both need and neither has yet: two that fetch at once would share Maven's folder."""
    if not missing_programs(("mvn",)):
        try:
            fetch_jars()
        except CassandraFailed as error:
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
