"""What the console's pages cost the server, with many queues and messages in memory:

    python -m benchmarks.console [--queues 10000] [--messages 100000] [--rounds 20] [--calls 1000]

Prints milliseconds of server time a page (from the request read to the answer made) and its size, while so many API
calls a second are served beside it; then how much of a core five open tabs take that refresh every five seconds.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import statistics
import time
from collections.abc import Awaitable, Callable

import uvloop
from aiohttp import ClientSession, web
from aiohttp.test_utils import TestServer

from admin.app import make_application
from admin.console import About, make_console
from cqs.cache.memory import MemoryCache
from cqs.clock import SystemClock
from cqs.ids import Addresses
from cqs.metrics.node import NodeMetrics
from cqs.queue import Queue, QueueName, Redrive
from cqs.receipt import Receipts
from cqs.service import queues
from cqs.service.accounts import Accounts
from cqs.service.credentials import Credentials
from cqs.service.draft_rules import Draft
from cqs.service.engine import Engine
from cqs.service.long_poll import Waiters
from cqs.service.passwords import Passwords
from cqs.service.receive import ReceiveRequest, receive
from cqs.service.registry import Registry
from cqs.service.seal import Sealer
from cqs.service.send import send_batch
from cqs.service.statistics import Sampler
from cqs.store.identity import MemoryIdentities
from cqs.store.memory import MemoryStore

ACCOUNT = "000000000000"
TABS, TAB_PERIOD_S = 5, 5
PAGES = {
    "overview": "/",
    "queues": "/queues",
    "queues, page 100": "/queues?page=100&sort=name",
    "queues, by rate": "/queues?sort=-in",
    "queues, found": "/queues?q=777&full=1",
    "search field": "/find?q=77",
    "a queue": f"/q/{ACCOUNT}/queue-00000",
    "its messages": f"/q/{ACCOUNT}/queue-00000/messages",
    "search in bodies": f"/q/{ACCOUNT}/queue-00000/messages?text=nowhere",
    "dead letters": "/dead-letters",
    "nodes": "/nodes",
}
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


async def engine_with(queue_count: int, message_count: int) -> Engine:
    """A tenth of the queues holds all messages, the first ones most; every hundredth has dead letters."""
    clock, rng = SystemClock(), random.Random(1)
    store, metrics = MemoryStore(clock), NodeMetrics()
    await store.open()
    engine = Engine(
        clock=clock,
        rng=rng,
        addresses=Addresses(clock, rng),
        cache=MemoryCache(clock, rng, 1_000_000_000),
        store=store,
        registry=Registry(),
        waiters=Waiters(),
        receipts=Receipts(await store.secret()),
        witness=metrics.witness,
        metrics=metrics,
    )
    dead = await queues.create(engine, QueueName(ACCOUNT, "dead-letters"), {}, {})
    made = []
    for number in range(queue_count):
        changes: dict[str, object] = {"redrive": Redrive(dead.arn, 3)} if number % 100 == 0 else {}
        made.append(await queues.create(engine, QueueName(ACCOUNT, f"queue-{number:05}"), changes, {"n": str(number)}))
    full = made[: max(1, queue_count // 10)]
    for start in range(0, message_count, 10):
        queue = full[int(rng.paretovariate(0.5)) % len(full)]
        await send_batch(engine, queue, [Draft(f'{{"order": {start + n}}}') for n in range(10)], "bench")
    await Sampler(engine).sample()
    return engine


async def measure(arguments: argparse.Namespace) -> None:
    """Prints the table."""
    engine = await engine_with(arguments.queues, arguments.messages)
    took: list[float] = []

    @web.middleware
    async def stopwatch(request: web.Request, handler: Handler) -> web.StreamResponse:
        begun = time.perf_counter()
        response = await handler(request)
        took.append((time.perf_counter() - begun) * 1_000)
        return response

    application = make_application(make_console(engine, _accounts(engine), b"s" * 32, About()))
    application.middlewares.insert(0, stopwatch)
    server = TestServer(application)
    await server.start_server()
    calls = asyncio.create_task(_call(engine, arguments.calls))
    async with ClientSession() as client:
        print(f"{arguments.queues:,} queues, {arguments.messages:,} messages, {arguments.calls:,} calls/s beside it")
        print(f"{'page':<20}{'median ms':>10}{'95 % ms':>10}{'live ms':>10}{'kB':>8}")
        for name, path in PAGES.items():
            whole, size = await _times(client, server, path, arguments.rounds, took, {})
            live, _ = await _times(client, server, path, arguments.rounds, took, {"HX-Request": "true"})
            most = statistics.quantiles(whole, n=20)[-1]
            middle, of_live = statistics.median(whole), statistics.median(live)
            print(f"{name:<20}{middle:>10.1f}{most:>10.1f}{of_live:>10.1f}{size / 1_000:>8.1f}")
        calls.cancel()
        await _share(client, server)
    await server.close()


async def _times(
    client: ClientSession, server: TestServer, path: str, rounds: int, took: list[float], headers: dict[str, str]
) -> tuple[list[float], int]:
    took.clear()
    size = 0
    for _ in range(rounds):
        async with client.get(server.make_url("/ADMIN" + path), headers=headers) as answer:
            size = len(await answer.read())
            assert answer.status == 200, path
    return list(took), size


async def _share(client: ClientSession, server: TestServer) -> None:
    """CPU of the process a refresh, the client's own work included, so the truth is lower."""
    paths = ["/", "/queues", f"/q/{ACCOUNT}/queue-00000", f"/q/{ACCOUNT}/queue-00000/messages", "/nodes"]
    begun, rounds = time.process_time(), 20
    for _ in range(rounds):
        for path in paths:
            async with client.get(server.make_url("/ADMIN" + path), headers={"HX-Request": "true"}) as answer:
                await answer.read()
    a_round = (time.process_time() - begun) / rounds
    print(f"{TABS} tabs that refresh every {TAB_PERIOD_S} s: {a_round / TAB_PERIOD_S:.1%} of a core, client included")


async def _call(engine: Engine, per_second: int) -> None:
    """Sends and receives beside the pages."""
    rng = random.Random(2)
    every: list[Queue] = list(engine.registry)
    while per_second:
        for _ in range(max(1, per_second // 100)):
            queue = rng.choice(every)
            if rng.random() < 0.5:
                await send_batch(engine, queue, [Draft("x")], "bench")
            else:
                await receive(engine, queue, ReceiveRequest(count_max=1, wait_ms=0), lambda: True)
        await asyncio.sleep(0.01)


def _accounts(engine: Engine) -> Accounts:
    identities, sealer = MemoryIdentities(), Sealer([b"k" * 32])
    credentials = Credentials(identities, sealer, engine.clock)
    return Accounts(identities, sealer, Passwords(), engine.clock, credentials)


def main() -> None:
    """Reads the arguments and measures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queues", type=int, default=10_000)
    parser.add_argument("--messages", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--calls", type=int, default=1_000)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(measure(parser.parse_args()))


if __name__ == "__main__":
    main()
