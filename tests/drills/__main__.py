"""`python -m tests.drills`: performs drills and writes their figures to docs/drills.md. `make drills` runs the long
versions.

    python -m tests.drills                                  all, short versions
    python -m tests.drills --long --messages 20000          all, long versions with 20,000 messages each
    python -m tests.drills 'FLUSHALL' 'no fault, 2 nodes' --seed 7   only these two
"""

from __future__ import annotations

import argparse
import asyncio
import random
import signal
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from types import FrameType

from tests.cassandra_server import Ring
from tests.drills.drills import DRILLS, Drill
from tests.drills.place import RING_OF
from tests.drills.report import DOCS, commit_here, keep, row_of
from tests.drills.result import Result, perform, why_not


def main() -> int:
    """Returns the exit code: the number of drills that failed, or 2 if a drill's name is unknown."""
    given = _arguments()
    chosen = [drill for drill in DRILLS if not given.names or drill.name in given.names]
    unknown = set(given.names) - {drill.name for drill in DRILLS}
    if unknown:
        print(f"no such drill: {', '.join(sorted(unknown))}; there are:", *[d.name for d in DRILLS], sep="\n  ")
        return 2
    signal.signal(signal.SIGTERM, _interrupt)
    failed = 0
    for datacenters in ((), *RING_OF.values()):
        some = [drill for drill in chosen if RING_OF.get(drill.kind, ()) == datacenters]
        if some:
            failed += _perform_all(some, datacenters, given)
    return failed


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _perform_all(drills: list[Drill], datacenters: Sequence[str], given: argparse.Namespace) -> int:
    failed = 0
    with ExitStack() as stack:
        ring = stack.enter_context(Ring(datacenters)) if datacenters else None
        for drill in drills:
            if why_not(drill):
                print(f"{drill.name}: skipped, because it {why_not(drill)}")
                continue
            seed = given.seed if given.seed is not None else random.SystemRandom().randrange(10**9)
            messages = (given.messages or drill.messages) if given.long else 0
            commit = commit_here()
            result = asyncio.run(perform(drill, seed, ring=ring, messages=messages))
            failed += _tell(result, commit, given.log, given.into)
    return failed


def _tell(result: Result, commit: str, log: Path | None, folder: Path) -> bool:
    """Prints and stores the figures. Returns whether the drill failed."""
    print(result, flush=True)
    for problem in result.wrong:
        print(f"  WRONG: {problem}", flush=True)
    if log is not None:
        result.history.write(log)
    keep(row_of(result, commit), folder)
    return bool(result.wrong)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.drills", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    parser.add_argument("names", nargs="*", metavar="DRILL", help="names of drills; default: all")
    parser.add_argument("--long", action="store_true", help="100,000 messages (some 1,000,000) and longer faults")
    parser.add_argument("--messages", type=int, metavar="N", help="with --long: how many in each drill")
    parser.add_argument("--seed", type=int, help="repeats a run's random choices")
    where = "where drills.json and drills.md are written, such as the reports_dir of a console"
    parser.add_argument("--into", type=Path, default=DOCS, metavar="FOLDER", help=where)
    parser.add_argument("--log", type=Path, metavar="FILE", help="history of the last drill, one JSON object a line")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
