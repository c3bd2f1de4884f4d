"""`make test` on a small scale: parallel runs of pytest, their output, and that they clean up."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.needs import needs
from tests.processes import command_of, descendants_of, runs

ROOT = Path(__file__).parents[2]
START_S_MAX, STOP_S_MAX = 120.0, 90.0
QUICK = ["tests/unit/test_ring.py"]


@contextmanager
def started(*runs: list[str]) -> Iterator[subprocess.Popen[str]]:
    """Starts it, and kills it at the end if it still runs; all its runs are then interrupted, too."""
    main = f"import sys; from tests.__main__ import main; sys.exit(main({runs!r}))"
    process = subprocess.Popen([sys.executable, "-c", main], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               text=True, cwd=ROOT)  # fmt: skip
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
            process.communicate()


def folder_of(pid: int) -> Path:
    """Returns the folder of an API node."""
    words = command_of(pid)
    return Path(words[words.index("--data-dir") + 1])


@pytest.mark.parametrize("failed", [None, 0, 1, 2])
def test_output_of_all_is_whole_and_one_that_failed_is_enough(failed: int | None) -> None:
    with started(*(["tests/no such"] if number == failed else QUICK for number in range(3))) as process:
        output, _ = process.communicate()

    assert process.returncode == (0 if failed is None else 4)
    assert output.count(" passed in ") == (3 if failed is None else 2), output
    assert ("file or directory not found: tests/no such" in output) == (failed is not None)


@needs("redis-server", "java", "mvn")
@pytest.mark.slow
@pytest.mark.parametrize(
    ("drill", "number"),
    [("FLUSHALL", signal.SIGTERM), ("maxmemory", signal.SIGINT), ("maxmemory", signal.SIGKILL)],
    ids=["Cassandra-SIGTERM", "Redis-SIGINT", "Redis-SIGKILL"],
)
def test_told_to_stop_in_a_drill_it_leaves_nothing(drill: str, number: signal.Signals) -> None:
    with started(QUICK, ["tests/drills/test_drills.py", "-k", drill]) as process:
        give_up_s = time.monotonic() + START_S_MAX
        while not (nodes := [pid for pid in descendants_of(process.pid) if "serve" in command_of(pid)]):
            assert time.monotonic() < give_up_s and process.poll() is None
            time.sleep(0.05)
        folders = [folder_of(pid) for pid in nodes]
        family = descendants_of(process.pid)
        process.send_signal(number)
        output, _ = process.communicate(timeout=STOP_S_MAX)
    give_up_s = time.monotonic() + STOP_S_MAX
    while any(map(runs, family)) and time.monotonic() < give_up_s:
        time.sleep(0.05)

    assert process.returncode == (-number if number == signal.SIGKILL else 2), output
    assert [command_of(pid) for pid in family if runs(pid)] == []
    assert [folder for folder in folders if folder.exists()] == []
