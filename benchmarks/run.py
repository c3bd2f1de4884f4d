"""`make bench`: measures the servers alternately in one run.

    for each round:              1 … repetitions
      for each scenario:
        for each server:         in an order that rotates with the round
          one window             warm-up, then measurement

All servers keep running, so JVMs are warm when they are measured. They take turns, so that other load on the machine
affects all of them. The raw results are written after every window.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks import downloads, results
from benchmarks.fleet import Fleet, say
from benchmarks.generator import LoadFailed, drive
from benchmarks.peers import PEERS
from benchmarks.report import print_table
from benchmarks.results import Run, Sample
from benchmarks.running import Running, stop_on_signals
from benchmarks.scenarios import SCENARIOS, SETS, Scenario

_QUICK_WINDOW_S = (1.0, 3.0)


def arguments(given: Sequence[str] | None = None) -> argparse.Namespace:
    """The command line, checked."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__.partition("\n")[0])
    parser.add_argument("--set", choices=SETS, default="core", help="which scenarios (default: core)")
    parser.add_argument("--only", nargs="+", metavar="NAME", help=f"these scenarios instead: {', '.join(SCENARIOS)}")
    parser.add_argument("--servers", default="cqs,elasticmq", help=f"some of {','.join(PEERS)}")
    parser.add_argument("--against", help="the reference server of ratios (default: elasticmq, if it takes part)")
    parser.add_argument("--repetitions", type=int, default=5, help="rounds (default: 5)")
    parser.add_argument("--jvm-warm", type=float, default=120.0, metavar="SECONDS", help="warm-up load for JVMs")
    parser.add_argument(
        "--window", type=float, metavar="SECONDS", help="measured in each window (default: as the set says)"
    )
    parser.add_argument("--quick", action="store_true", help="one round, short windows: does it work?")
    parser.add_argument("--output", type=Path, help="file of raw results (default: benchmarks/results/<time>.json)")
    options = parser.parse_args(given)
    options.servers = options.servers.split(",")
    for name in [*options.servers, *([options.against] if options.against else [])]:
        if name not in PEERS:
            parser.error(f"no server is called {name!r}")
    for name in options.only or []:
        if name not in SCENARIOS:
            parser.error(f"no scenario is called {name!r}")
    return options


def chosen(options: argparse.Namespace) -> list[Scenario]:
    members = [SCENARIOS[name] for name in options.only] if options.only else SETS[options.set]
    if options.quick:
        return [scenario.shortened(*_QUICK_WINDOW_S) for scenario in members]
    if options.window:
        return [scenario.shortened(min(scenario.warm_up_s, options.window / 2), options.window) for scenario in members]
    return members


def main(given: Sequence[str] | None = None) -> None:
    """Measures, writes the raw results, prints the table. Exits with 1 if a window failed or had errors."""
    stop_on_signals()
    options = arguments(given)
    if options.quick:
        options.repetitions, options.jvm_warm = 1, min(options.jvm_warm, 10.0)
    scenarios = chosen(options)
    run = Run(
        command=shlex.join(["python", "-m", "benchmarks", *(given if given is not None else sys.argv[1:])]),
        started=results.now(),
        machine=results.machine(),
        servers={name: f"{PEERS[name].title} ({PEERS[name].version})" for name in options.servers},
        scenarios={scenario.name: scenario.title for scenario in scenarios},
    )
    path = options.output or results.FOLDER / f"{run.started.replace(':', '')}.json"
    with Fleet(options.servers, options.jvm_warm) as fleet:
        failures = _measure(run, path, fleet, scenarios, options.repetitions)
    print_table([run], options.against)
    print(f"\nraw results: {path}")
    if failures:
        print("\n".join(["", "failed:", *failures]))
    sys.exit(1 if failures else 0)


def _measure(run: Run, path: Path, fleet: Fleet, scenarios: Sequence[Scenario], repetitions: int) -> list[str]:
    failures: list[str] = []
    for repetition in range(repetitions):
        for scenario in scenarios:
            for server in fleet.turn(repetition):
                if not is_for(scenario, server):
                    continue
                try:
                    sample = _window(scenario, server, repetition)
                except LoadFailed as reason:
                    failures.append(f"{scenario.name}, {server.peer.name}: {reason}")
                    say(failures[-1])
                    continue
                if sample.load.errors:
                    failures.append(f"{scenario.name}, {server.peer.name}: {sample.load.error_texts}")
                run.samples.append(sample)
                results.save(run, path)
    return failures


def is_for(scenario: Scenario, server: Running) -> bool:
    """Whether this server supports the scenario and is fast enough for it."""
    return not (scenario.fifo_groups and not server.peer.has_fifo) and not (scenario.is_heavy and server.peer.is_slow)


def _window(scenario: Scenario, server: Running, repetition: int) -> Sample:
    window = drive(downloads.load_generator(), server, scenario.flags())
    sample = window.sample(scenario.name, server, repetition)
    say(
        f"{repetition + 1}  {scenario.name:22} {server.peer.name:16} {window.load.messages_per_s:9,.0f} messages/s  "
        f"{sample.cpu_ms_per_1000_calls:6.0f} ms/1,000 calls  {window.resident_mb:6.0f} MB  "
        f"errors {window.load.errors}  others {window.other_cpu:.2f}"
    )
    return sample


if __name__ == "__main__":
    main()
