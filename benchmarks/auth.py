"""The cost of authentication: the same signed load on a server in each mode, measured alternately in one run.

    python -m benchmarks.auth [--rounds 7] [--seconds 6] [--clients 16] [--rate N] [--store sqlite|memory] [--batch 1]

Every request is signed, even for the open server, which ignores signatures, so clients cost the same in all modes.
Queues of the enforced server have a policy of three statements, all of which are evaluated. Prints for each mode:
messages per second, milliseconds of server CPU per 1,000 calls, and both relative to the open server, as the median
over the rounds of the ratio within a round. On a machine with other load, judge by CPU, at a `--rate` that all modes
reach: otherwise a slower mode gains from processing more requests at once.
"""

from __future__ import annotations

import argparse
import json
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from statistics import median

from benchmarks import downloads
from benchmarks.fleet import say
from benchmarks.generator import drive
from benchmarks.peers import ACCOUNT, KEY_FLAGS, KEY_ID, SECRET, Peer, checked_flags
from benchmarks.results import Sample
from benchmarks.running import Running, running, stop_on_signals
from cqs import __version__
from cqs.commands.client import CallFailed, Client
from cqs.commands.signer import Keys

MODES = ("open", "signed", "enforced")
_POLICY_WITHIN_S = 30.0
_TRY_AGAIN_S = 0.05


def arguments(given: Sequence[str] | None = None) -> argparse.Namespace:
    """The command line, checked."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.auth", description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=6.0, help="length of a window")
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--rate", type=int, default=0, help="messages per second (default: unlimited)")
    parser.add_argument("--batch", type=int, default=1, help="messages per call")
    parser.add_argument("--store", choices=("sqlite", "memory"), default="sqlite")
    return parser.parse_args(given)


def peer_of(mode: str, store: str) -> Peer:
    """CQS in one mode, with a user who has full access to its own account."""

    def command(port: int, folder: Path) -> list[str]:
        place = ["--in-memory"] if store == "memory" else ["--data-dir", str(folder / "data")]
        flags = ["--port", str(port), "--log-level", "warning", *checked_flags(mode, folder)]
        return [sys.executable, "-m", "cqs", "serve", *flags, *place]

    return Peer(mode, f"CQS, {mode}", __version__, command, is_checked=mode != "open", load_flags=KEY_FLAGS)


def policy_of(arn: str) -> str:
    """Returns a policy of three statements that match every call but do not change what the owner may do."""
    common = {"Resource": arn, "Action": "sqs:*"}
    late = {"DateGreaterThan": {"aws:CurrentTime": "2099-01-01T00:00:00Z"}}
    statements = [
        {"Effect": "Allow", "Principal": {"AWS": ["222233334444", "333344445555"]}},
        {"Effect": "Allow", "Principal": "*", "Condition": {"IpAddress": {"aws:SourceIp": ["10.0.0.0/8", "fd00::/8"]}}},
        {"Effect": "Deny", "Principal": "*", "Condition": late},
    ]  # fmt: skip
    return json.dumps({"Version": "2012-10-17", "Statement": [common | one for one in statements]})


def set_policies(server: Running) -> Callable[[], None]:
    """Sets a policy, in the background, on the queues of the load generator once they exist. Returns a function that
    stops this, and raises AssertionError if no queue got a policy."""
    done: list[str] = []
    is_over = threading.Event()

    def watch() -> None:
        client = Client(server.endpoint, keys=Keys(KEY_ID, SECRET))
        while not done and not is_over.wait(_TRY_AGAIN_S):
            try:
                for url in client.call("ListQueues").get("QueueUrls", []):
                    arn = f"arn:aws:sqs:us-east-1:{ACCOUNT}:{url.rpartition('/')[2]}"
                    client.call("SetQueueAttributes", QueueUrl=url, Attributes={"Policy": policy_of(arn)})
                    done.append(url)
            except CallFailed:
                continue
        client.close()

    thread = threading.Thread(target=watch)
    thread.start()

    def settle() -> None:
        is_over.set()
        thread.join(_POLICY_WITHIN_S)
        assert done, "no queue was given a policy"

    return settle


def window(server: Running, options: argparse.Namespace, repetition: int) -> Sample:
    """Measures one window on one server. Raises LoadFailed, or AssertionError if calls failed."""
    pace = ["-mode=rate", f"-rate={options.rate}", "-wait=1"] if options.rate else ["-mode=mixed"]
    flags = [*pace, "-sign", f"-clients={options.clients}", f"-batch={options.batch}", "-size=1024"]
    flags += ["-warmup=2s", f"-duration={options.seconds}s"]
    settle = set_policies(server) if server.peer.name == "enforced" else lambda: None
    try:
        measured = drive(downloads.load_generator(), server, flags)
    finally:
        settle()
    assert not measured.load.errors, measured.load.error_texts
    return measured.sample("auth", server, repetition)


def table(samples: Sequence[Sample]) -> list[str]:
    """Returns one line per mode: medians, and ratios to the open server within a round."""
    by_round = {(sample.server, sample.repetition): sample for sample in samples}
    rounds = sorted({sample.repetition for sample in samples})
    lines = [f"{'mode':10}{'messages/s':>12}{'of open':>9}{'CPU ms/1,000 calls':>20}{'of open':>9}"]
    for mode in MODES:
        own = [by_round[mode, number] for number in rounds]
        opened = [by_round["open", number] for number in rounds]
        pairs = list(zip(own, opened, strict=True))
        speed = median(a.load.messages_per_s / b.load.messages_per_s for a, b in pairs)
        cpu = median(a.cpu_ms_per_1000_calls / b.cpu_ms_per_1000_calls for a, b in pairs)
        lines.append(
            f"{mode:10}{median(one.load.messages_per_s for one in own):12,.0f}{speed:9.3f}"
            f"{median(one.cpu_ms_per_1000_calls for one in own):20.1f}{cpu:9.3f}"
        )
    return lines


def main(given: Sequence[str] | None = None) -> None:
    """Measures and prints the table."""
    stop_on_signals()
    options = arguments(given)
    samples: list[Sample] = []
    with ExitStack() as stack:
        servers = [stack.enter_context(running(peer_of(mode, options.store))) for mode in MODES]
        for number in range(options.rounds):
            for place in range(len(servers)):
                server = servers[(number + place) % len(servers)]
                sample = window(server, options, number)
                samples.append(sample)
                say(
                    f"{number + 1}  {sample.server:10} {sample.load.messages_per_s:9,.0f} messages/s  "
                    f"{sample.cpu_ms_per_1000_calls:6.1f} ms/1,000 calls  others {sample.other_cpu:.2f}"
                )
    print("\n".join(table(samples)))


if __name__ == "__main__":
    main()
