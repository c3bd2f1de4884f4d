"""The effect of a change on speed: the servers of two source trees, measured alternately in one run.

    git worktree add /tmp/before main~5
    python -m benchmarks.pair /tmp/before . --batch 10 --clients 16
    python -m benchmarks.pair . . --after-python /opt/python3.13/bin/python     # which has CQS's dependencies

Ratios are taken within a round, so that other load on the machine affects both.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from statistics import median

from benchmarks import downloads
from benchmarks.fleet import say
from benchmarks.generator import drive
from benchmarks.peers import Command, Peer
from benchmarks.results import Sample
from benchmarks.running import Running, running, stop_on_signals

TREES = ("before", "after")


def arguments(given: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pair", description=__doc__.partition("\n")[0])
    parser.add_argument("before", type=Path, help="folder of a checkout")
    parser.add_argument("after", type=Path, help="folder of another one")
    for name in TREES:
        parser.add_argument(f"--{name}-python", metavar="PROGRAM", default=sys.executable, help="(default: this one)")
    parser.add_argument("--in-memory", action="store_true", help="without SQLite")
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--batch", type=int, default=1, help="messages per call (default: 1)")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=4, help="length of a window (default: 4)")
    return parser.parse_args(given)


def peer_of(name: str, tree: Path, python: str, is_in_memory: bool) -> Peer:
    """The server of that tree, run by that Python."""

    def command(port: int, folder: Path) -> list[str]:
        place = ["--in-memory"] if is_in_memory else ["--data-dir", str(folder.resolve())]
        server = [python, "-m", "cqs", "serve", "--port", str(port), "--log-level", "warning", *place]
        return ["env", f"--chdir={tree.resolve()}", f"PYTHONPATH={tree.resolve()}", *server]

    made: Command = command
    return Peer(name, f"CQS, {name}", str(tree), made)


def window(server: Running, options: argparse.Namespace, repetition: int) -> Sample:
    """Measures one window. Raises LoadFailed, or AssertionError if calls failed."""
    flags = ["-mode=mixed", "-sign", "-size=1024", f"-clients={options.clients}", f"-batch={options.batch}"]
    measured = drive(downloads.load_generator(), server, [*flags, "-warmup=1s", f"-duration={options.seconds}s"])
    assert not measured.load.errors, measured.load.error_texts
    return measured.sample("pair", server, repetition)


def main(given: Sequence[str] | None = None) -> None:
    """Measures, and prints medians and the ratios of after to before."""
    stop_on_signals()
    options = arguments(given)
    found: dict[str, list[Sample]] = {name: [] for name in TREES}
    with ExitStack() as stack:
        given_by = vars(options)
        peers = [peer_of(name, given_by[name], given_by[f"{name}_python"], options.in_memory) for name in TREES]
        servers = [stack.enter_context(running(peer)) for peer in peers]
        for number in range(options.rounds):
            for server in servers if number % 2 == 0 else reversed(servers):
                measured = window(server, options, number)
                found[server.peer.name].append(measured)
                say(f"{number + 1}  {server.peer.name:7}{_figures([measured])}  others {measured.other_cpu:.2f}")
    for name in TREES:
        print(f"{name:7}{_figures(found[name])}")
    pairs = list(zip(found["before"], found["after"], strict=True))
    speed = median(after.load.messages_per_s / before.load.messages_per_s for before, after in pairs)
    cpu = median(after.cpu_ms_per_1000_calls / before.cpu_ms_per_1000_calls for before, after in pairs)
    print(f"ratio  {speed:9.2f} messages/s  {cpu:8.2f} us of CPU a call")


def _figures(windows: Sequence[Sample]) -> str:
    speed = median(one.load.messages_per_s for one in windows)
    return f"{speed:9,.0f} messages/s  {median(one.cpu_ms_per_1000_calls for one in windows):8.1f} us of CPU a call"


if __name__ == "__main__":
    main()
