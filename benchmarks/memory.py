"""The cost of waiting messages: resident memory with 100,000 and 1,000,000 of them, and the time of a restart.

    start empty ── measure ── fill ── measure ── 10 s ── measure ── stop ── start again ── first message received

Each figure is of a new server. A durable server is then restarted on its folder; it counts as back when a receive has
returned a message, not when it merely responds.
"""

from __future__ import annotations

import argparse
import http.client
import json
import shlex
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks import downloads, results
from benchmarks.generator import drive
from benchmarks.peers import PEERS, Peer
from benchmarks.report import print_memory
from benchmarks.results import Memory, Run
from benchmarks.running import Running, running, stop_on_signals

_SETTLE_S = 10.0
_RECEIVE_WITHIN_S = 120.0


def main(given: Sequence[str] | None = None) -> None:
    """`python -m benchmarks.memory`: measures the servers alternately, stores the raw results, and prints them."""
    stop_on_signals()
    parser = argparse.ArgumentParser(prog="python -m benchmarks.memory", description=__doc__.partition("\n")[0])
    parser.add_argument("--servers", default="cqs,elasticmq,elasticmq-256m", help=f"some of {','.join(PEERS)}")
    parser.add_argument("--messages", type=int, nargs="+", default=[100_000, 1_000_000], help="how many messages wait")
    parser.add_argument("--size", type=int, default=1024, help="bytes of a body")
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--output", type=Path, help="file of raw results (default: benchmarks/results/<time>.json)")
    options = parser.parse_args(given)
    names = options.servers.split(",")
    run = Run(
        command=shlex.join(["python", "-m", "benchmarks.memory", *(given if given is not None else sys.argv[1:])]),
        started=results.now(),
        machine=results.machine(),
        servers={name: f"{PEERS[name].title} ({PEERS[name].version})" for name in names},
    )
    path = options.output or results.FOLDER / f"memory-{run.started.replace(':', '')}.json"
    for messages in options.messages:
        for repetition in range(options.repetitions):
            for name in names:
                try:
                    run.memory.append(measure(PEERS[name], messages, options.size, repetition))
                except downloads.NotAvailable as reason:
                    print(f"without {name}: {reason}", file=sys.stderr)
                results.save(run, path)
    print_memory(run.memory)
    print(f"\nraw results: {path}")


def measure(peer: Peer, messages: int, size: int, repetition: int) -> Memory:
    """Measures one server with that many messages. Raises NotAvailable or LoadFailed."""
    folder = Path(tempfile.mkdtemp(prefix=f"{peer.name}-", dir=_place()))
    try:
        with running(peer, folder=folder) as server:
            empty = server.usage().resident_mb
            flags = ["-mode=fill", f"-backlog={messages}", f"-size={size}", "-keep", "-prefix=memory"]
            window = drive(downloads.load_generator(), server, flags)
            time.sleep(_SETTLE_S)
            settled = server.usage().resident_mb
            queue_url = _queue_url(server)
        restart_s, restarted = _restart(peer, folder, queue_url) if peer.is_durable else (None, None)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return Memory(
        server=peer.name,
        repetition=repetition,
        messages=messages,
        size=size,
        command=window.command,
        empty_mb=round(empty, 1),
        filled_mb=window.resident_mb,
        settled_mb=round(settled, 1),
        fill_seconds=round(window.load.seconds, 2),
        restart_s=restart_s,
        restarted_mb=restarted,
    )


def _place() -> Path:
    place = downloads.CACHE / "data"
    place.mkdir(parents=True, exist_ok=True)
    return place


def _restart(peer: Peer, folder: Path, queue_url: str) -> tuple[float, float]:
    """Returns the seconds until a message was received, and the memory then, in MB."""
    start = time.monotonic()
    with running(peer, folder=folder) as server:
        path = "/" + queue_url.split("/", 3)[3]
        deadline = start + _RECEIVE_WITHIN_S
        while time.monotonic() < deadline:
            if ask(server, "ReceiveMessage", {"QueueUrl": server.endpoint + path}).get("Messages"):
                return round(time.monotonic() - start, 3), round(server.usage().resident_mb, 1)
            time.sleep(0.02)
    raise downloads.NotAvailable(f"{peer.name} gave no message {_RECEIVE_WITHIN_S:.0f} s after its restart")


def _queue_url(server: Running) -> str:
    if server.peer.protocol != "json":
        return ""
    urls = ask(server, "ListQueues", {"QueueNamePrefix": "memory"})["QueueUrls"]
    assert isinstance(urls, list)
    return str(urls[0])


def ask(server: Running, action: str, members: dict[str, object]) -> dict[str, object]:
    """Makes one JSON call; a response other than 200 counts as empty."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    try:
        headers = {"Content-Type": "application/x-amz-json-1.0", "X-Amz-Target": f"AmazonSQS.{action}"}
        connection.request("POST", "/", json.dumps(members), headers)
        response = connection.getresponse()
        text = response.read()
        answer = json.loads(text) if response.status == 200 and text else {}
        return dict(answer)
    finally:
        connection.close()


if __name__ == "__main__":
    main()
