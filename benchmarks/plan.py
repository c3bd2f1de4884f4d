"""The runs behind docs/benchmarks.md: `make bench-page`, or `python -m benchmarks.plan [--only NAME …]`.

Each run is one command with one file of raw results, in which its servers took turns; `all` has all of them. The other
runs are separate because not every server supports everything (moto would take hours, goaws has no FIFO), and because
on two cores a Cassandra node, two JVMs and a Redis would affect each other's figures. Only CQS is measured with 100,000
queues, because they are created and deleted in each round.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Sequence

from benchmarks import results
from benchmarks.fleet import say
from benchmarks.report import main as write_page

_WARM = ("--jvm-warm", "90")
_LUKEWARM = ("--jvm-warm", "40")
_US_AND_ELASTICMQ = ("--servers", "cqs,elasticmq")
PLAN: dict[str, tuple[str, ...]] = {
    "core": (
        *("benchmarks", "--only", "mixed-64x1", "mixed-64x10", "mixed-16x10", "mixed-1x1", "rate-2000"),
        *("--servers", "cqs,cqs-signed,cqs-redis-sqlite,elasticmq,elasticmq-h2,goaws", "--window", "2", *_WARM),
    ),
    "matrix": (
        *("benchmarks", "--only", "mixed-16x1", "mixed-16x1-after-100000", "mixed-16x10-after-100000"),
        *("mixed-256x1", "mixed-256x10", "body-256", "body-4096", "body-65536", "body-1048576"),
        *("queues-10", "queues-1000", "fifo-1", "fifo-1000"),
        *("--servers", "cqs,elasticmq,goaws", "--window", "1.2", *_LUKEWARM),
    ),
    "deep": (
        *("benchmarks", "--only", "mixed-16x1", "mixed-16x1-after-1000000"),
        *(*_US_AND_ELASTICMQ, "--window", "2.5", *_LUKEWARM),
    ),
    "queues": ("benchmarks", "--only", "queues-10", "queues-100000", "--servers", "cqs", "--window", "2.5"),
    "idle": ("benchmarks", "--only", "pollers-1000", "--servers", "cqs,elasticmq,goaws", "--window", "4", *_LUKEWARM),
    "zdmq": (
        *("benchmarks", "--only"),
        *(f"zdmq-{threads}-{size}" for threads in (1, 8, 32, 96) for size in (1_024, 65_536, 1_048_576)),
        *(*_US_AND_ELASTICMQ, "--window", "1", *_LUKEWARM),
    ),
    "all": (
        *("benchmarks", "--only", "mixed-16x1", "mixed-16x10", "--window", "2", *_LUKEWARM),
        *("--servers", "cqs,cqs-signed,cqs-redis-sqlite,cqs-redis-cassandra,elasticmq,goaws,moto"),
    ),
    "nodes": ("benchmarks.cluster", "nodes", "--seconds", "2.5", "--rounds", "5"),
    "paper": ("benchmarks.cluster", "paper", "--seconds", "5", "--rounds", "5"),
    "paper-periodic": ("benchmarks.cluster", "paper", "--sync", "periodic", "--seconds", "5", "--rounds", "5"),
    "memory": ("benchmarks.memory", "--messages", "100000", "--repetitions", "5"),
    "memory-million": ("benchmarks.memory", "--messages", "1000000", "--servers", "cqs", "--repetitions", "1"),
}
"""Module and arguments by file name."""


def main(given: Sequence[str] | None = None) -> int:
    """Runs them one after the other and writes the page. Returns 1 if one failed; its results so far are kept."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.plan", description=__doc__.partition("\n")[0])
    parser.add_argument("--only", nargs="+", choices=PLAN, default=list(PLAN), metavar="NAME", help=", ".join(PLAN))
    failed = []
    for name in parser.parse_args(given).only:
        module, *arguments = PLAN[name]
        start = time.monotonic()
        output = os.path.relpath(results.FOLDER / f"{name}.json")
        command = [sys.executable, "-m", module, *arguments, "--output", output]
        if subprocess.run(command, check=False).returncode:
            failed.append(name)
        say(f"{name}: {time.monotonic() - start:.0f} s")
    write_page([])
    if failed:
        say(f"failed: {', '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
