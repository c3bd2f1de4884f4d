"""The cost of a call from the request's bytes to the response's bytes, without sockets and without a load generator:

    python -m benchmarks.hot_path [--store sqlite|memory] [--clients 64] [--batch 1] [--calls 4000] [--runs 9]
                                  [--journal full] [--profile FILE]

Uses the server's own components, built by `cqs.parts`. Each client is a transport that reacts to a response with the
next request: send, receive and delete of 1 KiB in turn. Prints the median and minimum over the runs, in microseconds of
CPU per call, of the event loop's thread and of all threads. Other programs on the machine affect CPU time little;
still, compare only figures of one run. They include the clients' share (about 3).
"""

from __future__ import annotations

import argparse
import asyncio
import cProfile
import json
import random
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any, cast

import uvloop

from cqs import backends, doors, heap, observers, parts
from cqs.api.app import App
from cqs.api.http.connection import Connection
from cqs.api.lane import Lane
from cqs.api.lanes import Lanes
from cqs.clock import SystemClock
from cqs.config import load
from cqs.people import open_people

URL = "http://127.0.0.1:9324/000000000000/hot"
_AUTHORIZATION = (
    "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20261128/us-east-1/sqs/aws4_request, "
    "SignedHeaders=host;x-amz-date;x-amz-target, Signature=" + "0" * 64
)
_BODY = "x" * 1024
_HANDLE = b'"ReceiptHandle":"'


def request_of(action: str, **members: object) -> bytes:
    """Returns the request as boto3 would send it."""
    body = json.dumps({"QueueUrl": URL} | members)
    head = {
        "Host": "127.0.0.1:9324",
        "Accept-Encoding": "identity",
        "X-Amz-Target": f"AmazonSQS.{action}",
        "x-amzn-query-mode": "true",
        "Content-Type": "application/x-amz-json-1.0",
        "User-Agent": "Boto3/1.43 md/Botocore#1.43 ua/2.1 os/linux lang/python#3.11",
        "X-Amz-Date": "20261128T000000Z",
        "Authorization": _AUTHORIZATION,
        "amz-sdk-invocation-id": "b3a1f2a0-0000-0000-0000-000000000000",
        "amz-sdk-request": "attempt=1",
        "Content-Length": str(len(body)),
    }
    lines = "".join(f"{name}: {value}\r\n" for name, value in head.items())
    return f"POST / HTTP/1.1\r\n{lines}\r\n{body}".encode()


class Script:
    """The requests of a client that uses `batch` messages per call."""

    def __init__(self, batch: int) -> None:
        self._is_batch = batch > 1
        entries = [{"Id": str(place), "MessageBody": _BODY} for place in range(batch)]
        self.send = (
            request_of("SendMessageBatch", Entries=entries)
            if self._is_batch
            else request_of("SendMessage", MessageBody=_BODY)
        )
        self.receive = request_of("ReceiveMessage", MaxNumberOfMessages=batch)
        self._head, _, self._tail = request_of("DeleteMessage", ReceiptHandle="#" * 60).partition(b"#" * 60)

    def delete(self, handles: list[bytes]) -> bytes:
        if not self._is_batch:
            return self._head + handles[0] + self._tail
        entries = [{"Id": str(place), "ReceiptHandle": handle.decode()} for place, handle in enumerate(handles)]
        return request_of("DeleteMessageBatch", Entries=entries)


class Client:
    """Acts as the transport of a lane, and as the client at its other end."""

    def __init__(self, lanes: Lanes, script: Script) -> None:
        self._script = script
        self._lane = Lane(lanes)
        self._left = 0
        self._handles: list[bytes] = []
        self._is_sending = True
        self._loop = asyncio.get_running_loop()
        self._done: asyncio.Future[None]
        self._lane.connection_made(cast(asyncio.Transport, self))

    async def create_queue(self) -> None:
        self._done = self._loop.create_future()
        self._ask(request_of("CreateQueue", QueueName="hot"))
        await self._done

    async def make(self, rounds: int) -> None:
        self._left, self._done = rounds, self._loop.create_future()
        self._ask(self._script.send)
        await self._done

    def write(self, reply: bytes) -> None:
        """Handles a response of the lane."""
        assert reply.startswith(b"HTTP/1.1 200"), reply
        if not self._left:
            self._done.set_result(None)
        elif self._is_sending:
            self._is_sending = False
            self._ask(self._script.receive)
        elif self._handles:
            self._handles = []
            self._left -= 1
            self._is_sending = True
            if self._left:
                self._ask(self._script.send)
            else:
                self._done.set_result(None)
        else:
            self._handles = [part[:60] for part in reply.split(_HANDLE)[1:]]
            self._ask(self._script.delete(self._handles) if self._handles else self._script.receive)

    def _ask(self, request: bytes) -> None:
        self._loop.call_soon(self._lane.data_received, request)

    def is_closing(self) -> bool:
        return False

    def close(self) -> None:
        self._lane.connection_lost(None)

    def get_extra_info(self, name: str) -> Any:
        return ("127.0.0.1", 1) if name == "peername" else None


def _unplain() -> Connection:
    raise AssertionError("a call of the script was not plain")


async def measure(flags: dict[str, object], options: argparse.Namespace) -> None:
    config = load(flags, {}).config
    clock, rng = SystemClock(), random.Random(1)
    store, cache = backends.store_of(config, clock), backends.CacheServers(config, clock, rng)
    journal = observers.journal_of(config, clock)
    await store.open()
    await cache.start()
    if journal is not None:
        await journal.open()
    people = await open_people(config, store, clock)
    engine = await parts.engine_of(config, store, cache, clock, rng, journal, doors.lately_of(config, clock))
    dispatcher, bounds = parts.dispatcher_of(engine, people.credentials, config), parts.bounds_of(config)
    app = App(dispatcher, bounds=bounds)
    lanes = Lanes(dispatcher, app.connections, bounds, app.room, _unplain)
    script = Script(options.batch)
    clients = [Client(lanes, script) for _ in range(options.clients)]
    await clients[0].create_queue()
    heap.set_aside()
    await _run(clients, 20)
    rounds = max(1, options.calls // 3 // options.clients)
    profiler = cProfile.Profile() if options.profile is not None else None
    if profiler is not None:
        profiler.enable()
    costs = [await _run(clients, rounds) for _ in range(options.runs)]
    if profiler is not None:
        profiler.disable()
        profiler.dump_stats(options.profile)
    of_loop, of_all, walls = zip(*costs, strict=True)
    print(
        f"loop {median(of_loop):6.1f} (least {min(of_loop):.1f})   all threads {median(of_all):6.1f}"
        f" (least {min(of_all):.1f})   calls/s {1e6 / median(walls):,.0f}"
    )
    if journal is not None:
        await journal.close()
    await store.close()
    await cache.close()


async def _run(clients: list[Client], rounds: int) -> tuple[float, float, float]:
    """Returns microseconds per call: CPU of this thread, CPU of the process, and wall-clock time."""
    start = time.thread_time(), time.process_time(), time.perf_counter()
    await asyncio.gather(*(client.make(rounds) for client in clients))
    end = time.thread_time(), time.process_time(), time.perf_counter()
    calls = rounds * len(clients) * 3
    of_loop, of_all, wall = ((b - a) / calls * 1e6 for a, b in zip(start, end, strict=True))
    return of_loop, of_all, wall


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.hot_path", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--store", choices=("sqlite", "memory"), default="sqlite")
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--calls", type=int, default=4_000)
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--journal", choices=("off", "full"), default="off")
    parser.add_argument("--profile", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        flags: dict[str, object] = {
            "data_dir": folder,
            "journal": options.journal,
            "journal_dir": f"{folder}/journal",
        }
        if options.store == "memory":
            flags["in_memory"] = True
        uvloop.run(measure(flags, options))


if __name__ == "__main__":
    main()
