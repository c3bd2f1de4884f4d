"""API calls from a separate process, so that figures of the server do not include the client:

    python -m benchmarks.traffic PORT CALLS QUEUES

Makes CALLS calls per second on keep-alive connections: alternately sends and receives, each on a random queue, and a
delete of each message received. Prints "ready" when it begins. Runs until SIGTERM, then prints one line of JSON,
`Told`.
"""

from __future__ import annotations

import asyncio
import random
import signal
import subprocess
import sys
import time
from contextlib import suppress

import msgspec
import uvloop

from benchmarks.filling import ACCOUNT, name_of
from cqs.metrics.declarations import REQUEST_SECONDS
from cqs.metrics.histogram import Histogram

CONNECTIONS = 64
_HEAD = (
    "POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/x-amz-json-1.0\r\n"
    "X-Amz-Target: AmazonSQS.{action}\r\nContent-Length: {length}\r\n\r\n"
)


class Told(msgspec.Struct, frozen=True):
    """The results of the calls. All fields except `seconds` and `cpu_s`, which are of the process, are about calls that
    got a response."""

    calls: int
    failed: int
    received: int
    seconds: float
    half_s: float
    most_s: float
    cpu_s: float

    @property
    def per_second(self) -> float:
        return self.calls / self.seconds


class Traffic:
    """Starts and controls the process."""

    def __init__(self, port: int, per_second: int, queues: int) -> None:
        command = [sys.executable, "-m", "benchmarks.traffic", str(port), str(per_second), str(queues)]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE)

    async def begun(self) -> None:
        """Waits until it makes calls."""
        assert self._process.stdout is not None
        await asyncio.to_thread(self._process.stdout.readline)

    async def end(self) -> Told:
        """Stops it and returns its results."""
        self._process.terminate()
        output, _ = await asyncio.to_thread(self._process.communicate)
        return msgspec.json.decode(output, type=Told)

    def kill(self) -> None:
        """Idempotent."""
        self._process.kill()
        self._process.wait()


class _Schedule:
    """When each call is due; the next free connection makes it. Late calls are made up for with at most CONNECTIONS
    calls in progress."""

    def __init__(self, per_second: int, queues: int) -> None:
        self.per_second = per_second
        self.queues = queues
        self.rng = random.Random(2)
        self.begun_s = time.perf_counter()
        self.taken = 0
        self.done = self.failed = self.received = 0
        self.took = Histogram.of(REQUEST_SECONDS)

    async def turn(self) -> None:
        due_s = self.begun_s + self.taken / self.per_second
        self.taken += 1
        left_s = due_s - time.perf_counter()
        if left_s > 0:
            await asyncio.sleep(left_s)


async def _work(port: int, schedule: _Schedule) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)

    async def call(action: str, **fields: object) -> dict[str, list[dict[str, str]]]:
        await schedule.turn()
        body = msgspec.json.encode(fields)
        begun_ns = time.perf_counter_ns()
        writer.write(_HEAD.format(action=action, length=len(body)).encode() + body)
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().split(b"content-length:", 1)[1].split(b"\r\n", 1)[0])
        answer = await reader.readexactly(length)
        schedule.took.observe(time.perf_counter_ns() - begun_ns)
        schedule.done += 1
        if not head.startswith(b"HTTP/1.1 200"):
            schedule.failed += 1
            return {}
        return msgspec.json.decode(answer) if answer else {}

    while True:
        queue = name_of(schedule.rng.randrange(schedule.queues))
        url = f"http://127.0.0.1:{port}/{ACCOUNT}/{queue}"
        await call("SendMessage", QueueUrl=url, MessageBody="x")
        queue = name_of(schedule.rng.randrange(schedule.queues))
        url = f"http://127.0.0.1:{port}/{ACCOUNT}/{queue}"
        for message in (await call("ReceiveMessage", QueueUrl=url)).get("Messages", []):
            schedule.received += 1
            await call("DeleteMessage", QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])


async def _run(port: int, per_second: int, queues: int) -> None:
    schedule = _Schedule(per_second, queues)
    loop = asyncio.get_running_loop()
    working = asyncio.gather(*(_work(port, schedule) for _ in range(CONNECTIONS)))
    loop.add_signal_handler(signal.SIGTERM, working.cancel)
    print("ready", flush=True)
    with suppress(asyncio.CancelledError):
        await working
    told = Told(
        calls=schedule.done,
        failed=schedule.failed,
        received=schedule.received,
        seconds=time.perf_counter() - schedule.begun_s,
        half_s=schedule.took.quantile(0.5),
        most_s=schedule.took.quantile(0.99),
        cpu_s=time.process_time(),
    )
    print(msgspec.json.encode(told).decode(), flush=True)


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_run(*map(int, sys.argv[1:])))
