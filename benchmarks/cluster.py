"""Measures a cluster on this machine: `python -m benchmarks.cluster paper` and `python -m benchmarks.cluster nodes`.

    paper   the table of the CQS paper: 10 queues, each with 2 senders and 2 receivers, 45 ms of processing per message,
            and targets of 10 … 1,000 messages per queue and second; the paper's figures next to ours
    nodes   1, 2 and 3 API processes, and one without leases, measured alternately in one run

It starts a Cassandra node. Each server has its own keyspace, a private Redis, and one port for all its API processes,
to which the kernel distributes connections like a load balancer. CPU is that of API processes and Redis; Cassandra's
CPU is listed separately, because it runs on the same two cores.
"""

from __future__ import annotations

import argparse
import asyncio
import shlex
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from statistics import median

import msgspec

from benchmarks import downloads, proc, results
from benchmarks.fleet import say
from benchmarks.generator import LoadFailed, drive
from benchmarks.paper import NODES, PAPER, flags_of, line, paper_table, scenario_of
from benchmarks.peers import Peer
from benchmarks.results import Run, Sample
from benchmarks.running import Running, running, stop_on_signals
from benchmarks.scenarios import SCENARIOS, Scenario
from cqs import __version__
from cqs.store.cassandra import Options, schema
from deploy.cluster.ring import Ring, Tuning

WARM_UP_S = 30.0
"""Warm-up under full load, because Cassandra's JVM compiles frequently used code."""
_NODES_HEAD = ("load", "server", "messages/s", "to 1 process", "p50 ms", "p99 ms", "cores", "errors", "duplicates")


_OF_NODES = ("mixed-64x1", "mixed-16x10")
VARIANTS = {
    "1-node": ("1 API process", ("--workers", "1")),
    "2-nodes": ("2 API processes", ("--workers", "2")),
    "3-nodes": ("3 API processes", ("--workers", "3")),
    "1-node-unleased": ("1 API process, leases off", ("--workers", "1", "--no-leases")),
}


def peer_of(ring: Ring, name: str, title: str, flags: Sequence[str]) -> Peer:
    """Defines a server on the ring and creates its keyspace. Raises CqsError."""
    keyspace = "bench_" + name.replace("-", "_")
    options = Options(hosts=tuple(ring.contact_points), port=ring.port, keyspace=keyspace)
    asyncio.run(schema.apply(options, {}))

    def command(port: int, folder: Path) -> list[str]:
        serve = [sys.executable, "-m", "cqs", "serve", "--port", str(port), "--log-level", "warning"]
        serve += ["--data-dir", str(folder), "--redis", "spawn", "--cassandra", ring.nodes[0].address]
        return [*serve, "--cassandra-port", str(ring.port), "--cassandra-keyspace", keyspace, *flags]

    return Peer(name, f"CQS, Redis + Cassandra, {title}", __version__, command, is_durable=True)


def window(server: Running, scenario: str, flags: Sequence[str], repetition: int) -> Sample:
    """Measures one window on the server. Raises LoadFailed."""
    return drive(downloads.load_generator(), server, flags).sample(scenario, server, repetition)


def paper(ring: Ring, run: Run, save: Callable[[], None], seconds: float, rounds: int) -> list[str]:
    """Measures and returns the lines of the table. Every other round starts with the highest target."""
    sync = ring.tuning.sync
    title, flags = VARIANTS[f"{NODES}-nodes"]
    with running(peer_of(ring, "paper", title, flags)) as server:
        window(server, "warm-up", SCENARIOS["mixed-16x10"].shortened(0.0, WARM_UP_S).flags(), 0)
        for number in range(rounds):
            for goal in PAPER if number % 2 == 0 else reversed(PAPER):
                sample = window(server, scenario_of(goal, sync), flags_of(goal, seconds), number)
                run.samples.append(msgspec.structs.replace(sample, largest_mb=_largest_mb(server)))
                save()
                say(f"{number + 1}  goal {goal}: {sample.load.calls['send'].messages_per_s:,.0f} messages/s")
    return paper_table([run], sync)


def _cores(samples: Sequence[Sample]) -> str:
    own = median(one.cpu_s / one.load.seconds for one in samples)
    return f"{own:.2f}, {median(one.other_cpu for one in samples):.2f}"


def _largest_mb(server: Running) -> float:
    """Returns the memory of the largest API process, in MB; their parent process is smaller."""
    return max(one.resident_mb for one in proc.below(server.process.pid) if not one.name.startswith("redis"))


def nodes(ring: Ring, run: Run, save: Callable[[], None], seconds: float, rounds: int) -> list[str]:
    """Measures and returns the lines of the table: medians over the rounds, and medians of the ratios within a
    round."""
    scenarios = [SCENARIOS[name].shortened(1.0, seconds) for name in _OF_NODES]
    found: dict[tuple[str, str], list[Sample]] = {}
    with ExitStack() as stack:
        peers = [peer_of(ring, name, title, flags) for name, (title, flags) in VARIANTS.items()]
        servers = [stack.enter_context(running(peer)) for peer in peers]
        for server in servers:
            window(server, "warm-up", SCENARIOS["mixed-16x10"].shortened(0.0, WARM_UP_S / len(servers)).flags(), 0)
        for number in range(rounds):
            for scenario in scenarios:
                for server in servers if number % 2 == 0 else reversed(servers):
                    sample = window(server, scenario.name, scenario.flags(), number)
                    run.samples.append(sample)
                    save()
                    found.setdefault((scenario.name, server.peer.name), []).append(sample)
                    say(f"{number + 1}  {scenario.name}  {server.peer.name}  {sample.load.messages_per_s:,.0f}/s")
    head = [line(_NODES_HEAD), line(["---"] * 2 + ["--:"] * (len(_NODES_HEAD) - 2))]
    return [*head, *(nodes_line(found, each, name) for each in scenarios for name in VARIANTS)]


def nodes_line(found: dict[tuple[str, str], list[Sample]], scenario: Scenario, name: str) -> str:
    mine = found[scenario.name, name]
    pairs = zip(mine, found[scenario.name, "1-node"], strict=True)
    ratio = median(one.load.messages_per_s / other.load.messages_per_s for one, other in pairs)
    cells = [
        scenario.title,
        VARIANTS[name][0],
        f"{median(one.load.messages_per_s for one in mine):,.0f}",
        f"{ratio:.2f}",
        f"{median(one.load.calls['send'].latency_ms.p50 for one in mine):.1f}",
        f"{median(one.load.calls['send'].latency_ms.p99 for one in mine):.0f}",
        _cores(mine),
        str(sum(one.load.errors for one in mine)),
        str(sum(one.load.duplicates for one in mine)),
    ]
    return line(cells)


def main(given: Sequence[str] | None = None) -> int:
    """Measures, stores the raw results, and prints the table. Returns 1 if the load generator failed."""
    stop_on_signals()
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cluster", description=__doc__.partition("\n")[0])
    parser.add_argument("what", choices=("paper", "nodes"))
    parser.add_argument("--seconds", type=float, default=8.0, help="length of a window (default: 8)")
    parser.add_argument("--rounds", type=int, default=3, help="number of rounds (default: 3)")
    parser.add_argument("--sync", choices=("batch", "periodic"), default="batch", help="commitlog_sync of Cassandra")
    parser.add_argument("--output", type=Path, help="file of raw results (default: benchmarks/results/<what>.json)")
    options = parser.parse_args(given)
    run = Run(
        command=shlex.join(["python", "-m", "benchmarks.cluster", *(given if given is not None else sys.argv[1:])]),
        started=results.now(),
        machine=results.machine(),
        servers={name: f"CQS, Redis + Cassandra, {title} ({__version__})" for name, (title, _) in VARIANTS.items()},
        scenarios={name: f"{SCENARIOS[name].title}, workers" for name in _OF_NODES} if options.what == "nodes" else {},
    )
    path = options.output or results.FOLDER / f"{options.what}.json"

    def save() -> None:
        results.save(run, path)

    with Ring(tuning=Tuning(sync=options.sync)) as ring:
        try:
            if options.what == "paper":
                lines = paper(ring, run, save, options.seconds, options.rounds)
            else:
                lines = nodes(ring, run, save, options.seconds, options.rounds)
        except LoadFailed as reason:
            say(str(reason))
            return 1
    print("\n".join([*lines, "", f"by: {run.command}; raw results: {path}"]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
