"""The cost of the console's pages and of a scrape to the server, with many queues and messages:

    python -m benchmarks.console [--on redis+cassandra] [--queues 10000] [--messages 100000] [--calls 1000]

    this process: API, console and loops, as in `cqs serve` ◄── calls ── benchmarks.traffic, a separate process
                             ▲
                             └── pages, one after the other, from this process

Runs in memory, or on a Redis and a Cassandra node that it starts. Messages are loaded in large batches by the two steps
of a send: into the store, then into the cache. Prints each page's size and milliseconds of server time (from the
request read to the response built), while another process makes that many API calls per second; then the results of
those calls, the lag of the event loop, and the share of a core that each process used. Finally, without the calls, it
prints the CPU of a page (including this client's part) and of five open tabs that refresh every five seconds.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from statistics import median, quantiles

import uvloop
from aiohttp import ClientSession, web

from admin.links import PREFIX
from benchmarks import proc
from benchmarks.filling import ACCOUNT, fill
from benchmarks.traffic import Traffic
from cqs import backends, doors, heap, parts
from cqs.api.app import App
from cqs.clock import SystemClock
from cqs.config import Config
from cqs.config.load import load
from cqs.listen import open_sockets
from cqs.metrics.declarations import LOOP_LAG
from cqs.metrics.latency import Lately
from cqs.people import open_people
from cqs.server import LOOPS
from cqs.service import residency
from cqs.service.engine import Engine
from cqs.store.cassandra import Options, schema
from deploy.cluster.ring import Ring

TABS, TAB_PERIOD_S = 5, 5
QUIET_ROUNDS = 20
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
SCRAPES = ("/metrics", "/jmx")
REFRESHED = ("overview", "queues", "a queue", "its messages", "nodes")
ON: dict[str, dict[str, object]] = {"memory": {"in_memory": True}, "redis+cassandra": {"redis": "spawn"}}
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass(frozen=True)
class Served:
    """A server in this process. `took`: milliseconds of each page since it was last cleared."""

    engine: Engine
    port: int
    took: list[float]
    pids: Mapping[str, Sequence[int]]
    """Process ids by role."""

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.port}{path}"


@asynccontextmanager
async def served(config: Config, database_pids: Sequence[int]) -> AsyncIterator[Served]:
    """Runs an empty server, built like `cqs serve`."""
    clock, rng = SystemClock(), random.Random(1)
    store, cache = backends.store_of(config, clock), backends.CacheServers(config, clock, rng)
    await store.open()
    await cache.start()
    try:
        people = await open_people(config, store, clock)
        lately = doors.lately_of(config, clock)
        engine = await parts.engine_of(config, store, cache, clock, rng, None, lately)
        await residency.open_all(engine)
        mounts = await doors.mounts_of(engine, store, people.accounts, config, lately, cache)
        took: list[float] = []
        for application in mounts.values():
            application.middlewares.insert(0, _stopwatch(took))
        app = App(parts.dispatcher_of(engine, people.credentials, config), mounts=mounts)
        sockets = open_sockets(config.listening, is_checked=False)
        await app.start(sockets)
        loops = [asyncio.create_task(loop(engine)) for loop in LOOPS]
        redis_pids = [cache.spawned.pid] if cache.spawned is not None else []
        pids = {"server": [os.getpid()], "Redis": redis_pids, "Cassandra": database_pids}
        try:
            yield Served(engine, sockets[0].getsockname()[1], took, pids)
        finally:
            for loop in loops:
                loop.cancel()
            await asyncio.gather(*loops, return_exceptions=True)
            await app.stop()
    finally:
        await cache.close()
        await store.close()


def _stopwatch(took: list[float]) -> Callable[..., Awaitable[web.StreamResponse]]:
    @web.middleware
    async def stopwatch(request: web.Request, handler: Handler) -> web.StreamResponse:
        begun = time.perf_counter()
        response = await handler(request)
        took.append((time.perf_counter() - begun) * 1_000)
        return response

    return stopwatch


async def measure(arguments: argparse.Namespace, config: Config, database_pids: Sequence[int]) -> None:
    """Measures and prints the tables."""
    async with served(config, database_pids) as server, ClientSession() as client:
        await fill(server.engine, arguments.queues, arguments.messages)
        heap.set_aside()
        print(f"{arguments.on}: {arguments.queues:,} queues, {arguments.messages:,} messages", end=", ")
        print(f"{arguments.calls:,} calls/s beside it")
        with _traffic(server, arguments) as traffic:
            await traffic.begun()
            await asyncio.sleep(arguments.settle)
            lag = Lately(LOOP_LAG)
            lag.look([server.engine.metrics.loop_lag])
            before, begun_s = _cpu_s(server), time.perf_counter()
            await _pages(server, client, arguments.rounds)
            after, seconds = _cpu_s(server), time.perf_counter() - begun_s
            lag.look([server.engine.metrics.loop_lag])
            told = await traffic.end()
        print(f"{told.per_second:,.0f} calls/s were answered, {told.failed} failed, {told.received} received a message")
        print(f"half within {told.half_s * 1_000:g} ms, 99 % within {told.most_s * 1_000:g} ms", end="; ")
        print(f"event loop late: half within {lag.quantile_ms(0.5):g} ms, 99 % within {lag.quantile_ms(0.99):g} ms")
        shares = [f"{name} {(after[name] - before[name]) / seconds:.2f}" for name in before]
        print(f"cores taken: {', '.join(shares)}, calls {told.cpu_s / told.seconds:.2f}")
        await _cpu_of_pages(server, client)


@contextmanager
def _traffic(server: Served, arguments: argparse.Namespace) -> Iterator[Traffic]:
    traffic = Traffic(server.port, arguments.calls, arguments.queues)
    try:
        yield traffic
    finally:
        traffic.kill()


async def _pages(server: Served, client: ClientSession, rounds: int) -> None:
    print(f"{'page':<20}{'median ms':>10}{'95 % ms':>10}{'live ms':>10}{'kB':>8}")
    for name, path in [*((name, PREFIX + path) for name, path in PAGES.items()), *((one, one) for one in SCRAPES)]:
        whole, size = await _times(server, client, path, rounds, {})
        live, _ = await _times(server, client, path, rounds, {"HX-Request": "true"})
        most = quantiles(whole, n=20, method="inclusive")[-1]
        print(f"{name:<20}{median(whole):>10.1f}{most:>10.1f}{median(live):>10.1f}{size / 1_000:>8.1f}", flush=True)


async def _times(
    server: Served, client: ClientSession, path: str, rounds: int, headers: dict[str, str]
) -> tuple[list[float], int]:
    server.took.clear()
    size = 0
    for _ in range(rounds):
        async with client.get(server.url(path), headers=headers) as answer:
            size = len(await answer.read())
            assert answer.status == 200, path
    return list(server.took), size


async def _cpu_of_pages(server: Served, client: ClientSession) -> None:
    """Prints the CPU that pages take of this process, including the client's part, so it is an upper bound, and of
    Redis."""
    each: dict[str, float] = {}
    for name, path in PAGES.items():
        before = _cpu_s(server)
        await _times(server, client, PREFIX + path, QUIET_ROUNDS, {"HX-Request": "true"})
        after = _cpu_s(server)
        each[name] = (after["server"] - before["server"]) / QUIET_ROUNDS
        redis_ms = (after["Redis"] - before["Redis"]) / QUIET_ROUNDS * 1_000
        print(f"CPU of a refresh: {name:<20}{each[name] * 1_000:>6.1f} ms, of Redis {redis_ms:.1f} ms")
    share = sum(each[name] for name in REFRESHED) / TAB_PERIOD_S
    print(f"{TABS} tabs that refresh every {TAB_PERIOD_S} s: {share:.1%} of a core, client and background included")


def _cpu_s(server: Served) -> dict[str, float]:
    used = {name: proc.usage(pids).cpu_s for name, pids in server.pids.items() if pids or name == "Redis"}
    return used | {"server": time.process_time()}


def main() -> None:
    """Reads the arguments and measures."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.console", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--queues", type=int, default=10_000)
    parser.add_argument("--messages", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--calls", type=int, default=1_000)
    parser.add_argument("--settle", type=float, default=10.0, help="seconds of calls before the pages are measured")
    parser.add_argument("--on", choices=sorted(ON), default="memory")
    arguments = parser.parse_args()
    with contextlib.ExitStack() as stack, asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        settings = dict(ON[arguments.on]) | {"port": 0}
        pids: list[int] = []
        if "cassandra" in arguments.on:
            ring = stack.enter_context(Ring())
            hosts = tuple(ring.contact_points)
            runner.run(schema.apply(Options(hosts=hosts, port=ring.port), {}))
            settings |= {"cassandra": ",".join(hosts), "cassandra_port": ring.port}
            pids = [node.pid for node in ring.nodes]
        runner.run(measure(arguments, load(settings, {}).config, pids))


if __name__ == "__main__":
    main()
