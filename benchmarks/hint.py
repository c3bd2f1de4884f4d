"""Measures the consistency hint: `python -m benchmarks.hint [--messages N] [--seeds N] [--first-seed N]`.

Combines K in {1, 4, 16, 64, 256, auto} with 1 to 64 receivers on four nodes without a cache, and measures duplicates,
collisions, displacement (docs/audit.md) and throughput. Time is simulated (`benchmarks.hint_nodes`), so a seed gives
the same figures on every machine. Writes benchmarks/results/hint.json, docs/images/hint.svg and the table in
docs/audit.md.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import msgspec

from benchmarks import results
from benchmarks.hint_page import write_page
from benchmarks.hint_points import Point, Sweep
from benchmarks.hint_run import NODES, measure
from benchmarks.simulated import simulated

HINTS = ("1", "4", "16", "64", "256", "auto")
RECEIVERS = (1, 4, 16, 64)
FRESH = 101
"""The default first seed. It was not used to tune `auto`, whose SPREAD and FALL_MS were chosen with seeds 1 and 2."""
_RESULTS = results.FOLDER / "hint.json"


def sweep(messages: int, seeds: Sequence[int]) -> list[Point]:
    """Measures all points, each on its own event loop."""
    points = []
    for receivers in RECEIVERS:
        for value in HINTS:
            for seed in seeds:
                with simulated() as runner:
                    points.append(runner.run(measure(value, receivers, messages, seed)))
    return points


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.hint", description=__doc__)
    parser.add_argument("--messages", type=int, default=1_000, help="messages in each queue, a multiple of ten")
    parser.add_argument("--seeds", type=int, default=2, help="runs of each point")
    parser.add_argument("--first-seed", type=int, default=FRESH, help=f"(default: {FRESH})")
    parser.add_argument("--output", type=Path, default=_RESULTS)
    given = parser.parse_args()
    command = f"python -m benchmarks.hint --messages {given.messages} --seeds {given.seeds}"
    seeds = range(given.first_seed, given.first_seed + given.seeds)
    command += "" if given.first_seed == FRESH else f" --first-seed {given.first_seed}"
    measured = Sweep(command, results.now(), NODES, sweep(given.messages, seeds))
    given.output.write_bytes(msgspec.json.format(msgspec.json.encode(measured), indent=1) + b"\n")
    print(write_page(measured) if given.output == _RESULTS else given.output)


if __name__ == "__main__":
    main()
