"""What a call costs the event loop's thread, from raw request to raw reply, without sockets:

    python -m benchmarks.hot_path [--store sqlite|memory] [--clients 64] [--calls 60000] [--profile FILE]

Prints microseconds of that thread's CPU a call, for send, receive and delete of 1 KiB in turn by so many clients at
once. CPU time, so other programs on the machine disturb it little; still, compare figures of one run.
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

import uvloop

from cqs.api.access import OpenAccess
from cqs.api.dispatch import Dispatcher
from cqs.api.origins import Origins
from cqs.api.request import Headers, Request, head_of
from cqs.api.request_ids import RequestIds
from cqs.api.urls import BaseUrls
from cqs.cache.memory import MemoryCache
from cqs.clock import SystemClock
from cqs.events import NullWitness
from cqs.ids import Addresses
from cqs.receipt import Receipts
from cqs.service.engine import Engine
from cqs.service.long_poll import Waiters
from cqs.service.registry import Registry
from cqs.store.interface import Store
from cqs.store.memory import MemoryStore
from cqs.store.sqlite import SqliteStore

URL = "http://127.0.0.1:9324/000000000000/hot"
_AUTHORIZATION = (
    b"AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20261128/us-east-1/sqs/aws4_request, SignedHeaders=host, Signature=0"
)
_BODY = "x" * 1024


def request_of(action: str, **members: object) -> Request:
    """As boto3 would send it."""
    headers: Headers = [
        (b"Host", b"127.0.0.1:9324"),
        (b"X-Amz-Target", b"AmazonSQS." + action.encode()),
        (b"Content-Type", b"application/x-amz-json-1.0"),
        (b"x-amzn-query-mode", b"true"),
        (b"User-Agent", b"Boto3/1.43 md/Botocore#1.43 ua/2.1 os/linux lang/python#3.11"),
        (b"X-Amz-Date", b"20261128T000000Z"),
        (b"Authorization", _AUTHORIZATION),
        (b"amz-sdk-invocation-id", b"b3a1f2a0-0000-0000-0000-000000000000"),
        (b"amz-sdk-request", b"attempt=1"),
    ]
    body = json.dumps({"QueueUrl": URL} | members).encode()
    return Request(b"POST", b"/", headers, body, "127.0.0.1", head=head_of(headers))


async def engine_of(store: Store) -> Engine:
    clock, rng = SystemClock(), random.Random(1)
    await store.open()
    return Engine(
        clock=clock,
        rng=rng,
        addresses=Addresses(clock, rng),
        cache=MemoryCache(clock, rng, 256_000_000),
        store=store,
        registry=Registry(),
        waiters=Waiters(),
        receipts=Receipts(await store.secret()),
        witness=NullWitness(),
    )


async def client(dispatcher: Dispatcher, rounds: int) -> None:
    send, receive = request_of("SendMessage", MessageBody=_BODY), request_of("ReceiveMessage")
    for _ in range(rounds):
        assert (await dispatcher.dispatch(send)).status == 200
        reply = await dispatcher.dispatch(receive)
        for message in json.loads(reply.body).get("Messages", ()):
            delete = request_of("DeleteMessage", ReceiptHandle=message["ReceiptHandle"])
            assert (await dispatcher.dispatch(delete)).status == 200


async def measure(store: Store, clients: int, calls: int, profile: Path | None) -> float:
    """Microseconds a call, this driver's own share included (about 6)."""
    engine = await engine_of(store)
    access = OpenAccess()
    dispatcher = Dispatcher(engine, access, RequestIds(engine.rng), origins=Origins(), base_urls=BaseUrls())
    await dispatcher.dispatch(request_of("CreateQueue", QueueName="hot"))
    await asyncio.gather(*(client(dispatcher, 50) for _ in range(clients)))
    rounds = max(1, calls // 3 // clients)
    profiler = cProfile.Profile() if profile is not None else None
    if profiler is not None:
        profiler.enable()
    start = time.thread_time()
    await asyncio.gather(*(client(dispatcher, rounds) for _ in range(clients)))
    spent = time.thread_time() - start
    if profiler is not None and profile is not None:
        profiler.disable()
        profiler.dump_stats(profile)
    await store.close()
    return spent / (rounds * clients * 3) * 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--store", choices=("sqlite", "memory"), default="sqlite")
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--calls", type=int, default=60_000)
    parser.add_argument("--profile", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        clock = SystemClock()
        store: Store = SqliteStore(Path(folder), clock) if options.store == "sqlite" else MemoryStore(clock)
        cost = uvloop.run(measure(store, options.clients, options.calls, options.profile))
    print(f"{options.store}: {cost:.1f} us of the loop's CPU a call")


if __name__ == "__main__":
    main()
