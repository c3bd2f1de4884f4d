"""The cost of the event journal: the same load on a server with and without it, measured alternately in one run.

It is half of `make bench-spark`.

    python -m benchmarks.journal [--rounds 5] [--seconds 3] [--store sqlite|memory|cassandra] [--shapes singles,batches]

`cassandra`: uses a private Redis and starts a Cassandra node.

Single messages are sent by 64 clients, batches of ten by 16. Prints for each: messages per second, microseconds of CPU
per call of the server and all its processes, and full relative to off, as the median over the rounds of the ratio
within a round. The compression that is left to do after the load is not part of a window, nor of its CPU.

Finally the journal is read: it must have exactly as many sends and receives as the load generator got responses for,
and no `dropped_events`. Raw results are written to `benchmarks/results/journal-….json`.
"""

from __future__ import annotations

import argparse
import gzip
import shlex
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from statistics import median

from benchmarks import cluster, downloads, results
from benchmarks.fleet import say
from benchmarks.generator import drive
from benchmarks.peers import Peer
from benchmarks.results import Run, Sample
from benchmarks.running import Running, running, stop_on_signals
from cqs import __version__
from cqs.events import EventName
from cqs.journal.blocks import lines_of
from cqs.journal.files import files_of
from deploy.cluster.ring import Ring

MODES = ("off", "full")
SHAPES = {"singles": (64, 1), "batches": (16, 10)}
"""Number of clients, and messages per call."""


def arguments(given: Sequence[str] | None = None) -> argparse.Namespace:
    """The command line, checked."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.journal", description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=3.0, help="length of a window")
    parser.add_argument("--store", choices=("sqlite", "memory", "cassandra"), default="sqlite")
    parser.add_argument("--shapes", default=",".join(SHAPES), help=f"some of {', '.join(SHAPES)} (default: all)")
    return parser.parse_args(given)


def peer_of(mode: str, folder: Path, is_durable: bool, ring: Ring | None) -> Peer:
    """CQS with its journal in `journal` below the folder, or without a journal; on `ring` if it is given."""
    journal = ["--journal", mode, "--journal-dir", str(folder / "journal")]
    if ring is not None:
        return cluster.peer_of(ring, mode, f"journal {mode}", journal)

    def command(port: int, _: Path) -> list[str]:
        place = ["--data-dir", str(folder / "data")] if is_durable else ["--in-memory"]
        return [
            *(sys.executable, "-m", "cqs", "serve", "--port", str(port), "--log-level", "warning"),
            *(*journal, *place),
        ]

    return Peer(mode, f"CQS, journal {mode}", __version__, command)


def window(server: Running, shape: str, seconds: float, repetition: int) -> Sample:
    """Measures one window on one server. Raises LoadFailed, or AssertionError if calls failed."""
    clients, batch = SHAPES[shape]
    flags = ["-mode=mixed", "-sign", "-size=1024", f"-clients={clients}", f"-batch={batch}"]
    measured = drive(downloads.load_generator(), server, [*flags, "-warmup=1s", f"-duration={seconds}s"])
    assert not measured.load.errors, measured.load.error_texts
    return measured.sample(shape, server, repetition)


def table(samples: Sequence[Sample]) -> list[str]:
    """Returns two lines per shape: medians, and the ratios of full to off within a round."""
    lines = [f"{'':10}{'journal':9}{'messages/s':>12}{'ratio':>8}{'CPU us/call':>13}{'ratio':>8}"]
    for shape in dict.fromkeys(sample.scenario for sample in samples):
        by_mode = {
            mode: [sample for sample in samples if (sample.scenario, sample.server) == (shape, mode)] for mode in MODES
        }
        for mode, own in by_mode.items():
            pairs = list(zip(own, by_mode["off"], strict=True))
            speed = median(a.load.messages_per_s / b.load.messages_per_s for a, b in pairs)
            cpu = median(a.cpu_ms_per_1000_calls / b.cpu_ms_per_1000_calls for a, b in pairs)
            lines.append(
                f"{shape:10}{mode:9}{median(one.load.messages_per_s for one in own):12,.0f}{speed:8.3f}"
                f"{median(one.cpu_ms_per_1000_calls for one in own):13.1f}{cpu:8.3f}"
            )
    return lines


def told_of(folder: Path) -> Counter[EventName]:
    """Counts the events of all files by kind. Raises AssertionError for a file that is not finished or has no closing
    line."""
    counts: Counter[EventName] = Counter()
    for file in files_of(folder):
        assert file.is_finished, f"{file.path} is not finished"
        with gzip.open(file.path) as texts:
            for text in texts:
                lines = lines_of(text)
                event = lines[0].event
                counts[event] += lines[0].count if event is EventName.DROPPED_EVENTS else len(lines)
        assert event is EventName.CLOSED, f"{file.path} has no closing line"
    return counts


def compared(counts: Counter[EventName], samples: Sequence[Sample]) -> str:
    """Compares journal and load generator. Returns a sentence. Raises AssertionError if they disagree."""
    loads = [sample.load for sample in samples if sample.server == "full"]
    sent, received = sum(load.acknowledged for load in loads), sum(load.received + load.duplicates for load in loads)
    told = counts[EventName.SENT], counts[EventName.RECEIVED] + counts[EventName.FROM_STORE]
    dropped = counts[EventName.DROPPED_EVENTS]
    assert not dropped, f"the journal dropped {dropped:,} events"
    assert told == (sent, received), f"the journal has {told} sends and receives, the clients {(sent, received)}"
    return f"the journal has all {sent:,} sends and {received:,} receives, {counts.total():,} events; none was dropped"


def main(given: Sequence[str] | None = None) -> None:
    """Measures, checks and prints the table."""
    stop_on_signals()
    options = arguments(given)
    run = Run(
        command=shlex.join(["python", "-m", "benchmarks.journal", *(sys.argv[1:] if given is None else given)]),
        started=results.now(),
        machine=results.machine(),
        servers={mode: f"CQS {__version__}, journal {mode}" for mode in MODES},
        scenarios={shape: f"{clients} clients, {batch} a call" for shape, (clients, batch) in SHAPES.items()},
    )
    shapes = [shape for shape in SHAPES if shape in options.shapes.split(",")]
    downloads.CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=downloads.CACHE, prefix="journal-") as place:
        with ExitStack() as stack:
            ring = stack.enter_context(Ring()) if options.store == "cassandra" else None
            folders = {mode: Path(place, mode) for mode in MODES}
            servers = [
                stack.enter_context(running(peer_of(mode, folder, options.store != "memory", ring), folder=folder))
                for mode, folder in folders.items()
            ]
            for shape in shapes:
                for number in range(options.rounds):
                    for server in servers if number % 2 == 0 else reversed(servers):
                        sample = window(server, shape, options.seconds, number)
                        run.samples.append(sample)
                        say(
                            f"{shape} {number + 1}  {sample.server:5} {sample.load.messages_per_s:9,.0f} messages/s  "
                            f"{sample.cpu_ms_per_1000_calls:6.1f} us/call  others {sample.other_cpu:.2f}"
                        )
        print("\n".join(table(run.samples)))
        stamp = run.started.replace("-", "").replace(":", "").rstrip("Z")
        results.save(run, results.FOLDER / f"journal-{stamp}.json")
        print(compared(told_of(Path(place, "full", "journal")), run.samples))


if __name__ == "__main__":
    main()
