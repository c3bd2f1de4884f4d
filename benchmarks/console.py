"""What the console's pages and a scrape cost the server, with many queues and messages:

    python -m benchmarks.console [--on redis+cassandra] [--queues 10000] [--messages 100000] [--calls 1000]

On memory, or on a Redis and a Cassandra of its own, started for it. Messages are loaded by the two steps of a send,
many at a time: into the store, then into the cache. Prints milliseconds of server time a page (from the request read
to the answer made) and its size, while so many API calls a second are started beside it, in the same process, which
samples its queues as a server does; then what became of those calls, how late the event loop was, and how much of a
core five open tabs take that refresh every five seconds.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import gc
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from statistics import median, quantiles

import uvloop
from aiohttp import ClientSession, web
from aiohttp.test_utils import TestServer

from admin.app import make_application
from admin.console import About, make_console
from benchmarks.filling import ACCOUNT, fill
from benchmarks.traffic import Traffic
from cqs import backends, parts
from cqs.api.metrics_page import metrics_mounts
from cqs.api.origins import Origins
from cqs.clock import SystemClock
from cqs.config.load import load
from cqs.service import revisibility, statistics
from cqs.service.accounts import Accounts
from cqs.service.credentials import Credentials
from cqs.service.engine import Engine
from cqs.service.passwords import Passwords
from cqs.service.seal import Sealer
from cqs.store.cassandra import Options, schema
from cqs.store.identity import MemoryIdentities
from deploy.cluster.ring import Ring

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
    "/metrics": "/metrics",
    "/jmx": "/jmx",
}
ON: dict[str, dict[str, object]] = {"memory": {"in_memory": True}, "redis+cassandra": {"redis": "spawn"}}
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@asynccontextmanager
async def engine_on(settings: Mapping[str, object]) -> AsyncIterator[Engine]:
    """As a server builds it."""
    config = load(settings, {}).config
    clock, rng = SystemClock(), random.Random(1)
    store, servers = backends.store_of(config, clock), backends.CacheServers(config, clock, rng)
    await store.open()
    await servers.start()
    try:
        yield await parts.engine_of(config, store, servers, clock, rng, None)
    finally:
        await servers.close()
        await store.close()


async def measure(arguments: argparse.Namespace, settings: Mapping[str, object]) -> None:
    """Prints the table."""
    async with engine_on(settings) as engine:
        await fill(engine, arguments.queues, arguments.messages)
        await asyncio.sleep(arguments.settle)
        await _measure(engine, arguments)


async def _measure(engine: Engine, arguments: argparse.Namespace) -> None:
    took: list[float] = []

    @web.middleware
    async def stopwatch(request: web.Request, handler: Handler) -> web.StreamResponse:
        begun = time.perf_counter()
        response = await handler(request)
        took.append((time.perf_counter() - begun) * 1_000)
        return response

    console = make_console(engine, _accounts(engine), b"s" * 32, About())
    console.templates.warm()
    application = make_application(console)
    application.middlewares.insert(0, stopwatch)
    for path, mount in metrics_mounts(engine, Origins()).items():
        application.router.add_get("/ADMIN" + path, next(iter(mount.router.routes())).handler)
    server = TestServer(application)
    await server.start_server()
    gc.collect()
    gc.freeze()
    traffic = Traffic(engine, arguments.calls)
    loops = [asyncio.create_task(work) for work in (statistics.run(engine), revisibility.run(engine), traffic.run())]
    async with ClientSession() as client:
        print(f"{arguments.on}: {arguments.queues:,} queues, {arguments.messages:,} messages", end=", ")
        print(f"{arguments.calls:,} calls/s beside it")
        print(f"{'page':<20}{'median ms':>10}{'95 % ms':>10}{'live ms':>10}{'kB':>8}")
        for name, path in PAGES.items():
            whole, size = await _times(client, server, path, arguments.rounds, took, {})
            live, _ = await _times(client, server, path, arguments.rounds, took, {"HX-Request": "true"})
            most = quantiles(whole, n=20, method="inclusive")[-1]
            middle, of_live = median(whole), median(live)
            print(f"{name:<20}{middle:>10.1f}{most:>10.1f}{of_live:>10.1f}{size / 1_000:>8.1f}")
        print(traffic.told(engine.metrics.loop_lag))
        for loop in loops:
            loop.cancel()
        await asyncio.gather(*loops, return_exceptions=True)
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


def _accounts(engine: Engine) -> Accounts:
    identities, sealer = MemoryIdentities(), Sealer([b"k" * 32])
    credentials = Credentials(identities, sealer, engine.clock)
    return Accounts(identities, sealer, Passwords(), engine.clock, credentials)


def main() -> None:
    """Reads the arguments and measures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queues", type=int, default=10_000)
    parser.add_argument("--messages", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--calls", type=int, default=1_000)
    parser.add_argument("--settle", type=float, default=0.0, help="seconds between loading and measuring")
    parser.add_argument("--on", choices=sorted(ON), default="memory")
    arguments = parser.parse_args()
    with contextlib.ExitStack() as stack, asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        settings = dict(ON[arguments.on])
        if "cassandra" in arguments.on:
            ring = stack.enter_context(Ring())
            hosts = tuple(ring.contact_points)
            runner.run(schema.apply(Options(hosts=hosts, port=ring.port), {}))
            settings |= {"cassandra": ",".join(hosts), "cassandra_port": ring.port}
        runner.run(measure(arguments, settings))


if __name__ == "__main__":
    main()
