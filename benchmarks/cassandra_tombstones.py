"""The cost of tombstones for reads of rows: `python -m benchmarks.cassandra_tombstones [--messages N] [--rows N]`.

Starts a real Cassandra node, sends and deletes N messages of one queue through the store, and measures the reads that a
lost cache causes: the first messages of a row (the fallback of a receive), one look at all rows, and the first access
to a queue (a scan of its 100 rows). Measures them before and after, with and without the store's low-water marks.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import statistics
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from cqs.clock import SystemClock
from cqs.ids import Addresses
from cqs.message import Message
from cqs.queue import Queue
from cqs.store.cassandra import CassandraStore, Options, schema
from cqs.store.cassandra.session import Session
from deploy.cluster.ring import Ring

GROUP = 64
SENDERS = 8
BODY = "x" * 1_024
DAY_MS = 86_400_000
KEYSPACE = "tombstones"


@dataclass(frozen=True)
class Figure:
    """Durations of one kind of read, in ms."""

    name: str
    times_ms: list[float]

    def line(self) -> str:
        times = sorted(self.times_ms)
        p99 = times[min(len(times) - 1, len(times) * 99 // 100)]
        return f"| {self.name} | {len(times)} | {statistics.median(times):.1f} | {p99:.1f} | {times[-1]:.1f} |"


class Bench:
    """One keyspace on one node."""

    def __init__(self, ring: Ring, rows: int) -> None:
        hosts = tuple(ring.contact_points)
        self.options = Options(hosts=hosts, port=ring.port, keyspace=KEYSPACE, request_ms=10_000, rows=rows)
        self._clock = SystemClock()
        self._rng = random.Random(1)
        self._nodes: list[CassandraStore] = []
        self._addresses = Addresses(self._clock, self._rng)

    async def node(self) -> CassandraStore:
        """Returns a new node, which knows only what is stored."""
        store = CassandraStore(self.options, self._clock)
        await store.open()
        self._nodes.append(store)
        return store

    async def close(self) -> None:
        for store in self._nodes:
            await store.close()

    async def queue(self, store: CassandraStore, name: str, age_ms: int = 0) -> Queue:
        then_ms = self._clock.now_ms() - age_ms
        uid = self._rng.getrandbits(48)
        queue = Queue(
            account="000000000000", name=name, region="us-east-1", uid=uid, created_ms=then_ms, modified_ms=then_ms
        )
        return await store.create(queue)

    async def send_and_delete(self, store: CassandraStore, queue: Queue, count: int) -> float:
        """Sends and deletes `count` messages. Returns messages per second."""
        started = time.perf_counter()
        left = count

        async def sender() -> None:
            nonlocal left
            while left > 0:
                size = min(GROUP, left)
                left -= size
                messages = [
                    Message(address=self._addresses.next(store.rows), body=BODY, sent_ms=self._clock.now_ms())
                    for _ in range(size)
                ]
                await store.append(queue, messages)
                await store.delete(queue, [message.address for message in messages])

        await asyncio.gather(*[sender() for _ in range(SENDERS)])
        await store.swept()
        return count / (time.perf_counter() - started)

    async def forgetful_node(self) -> CassandraStore:
        """Returns a new node after removing all stored marks."""
        session = Session(self.options)
        await session.connect()
        await session.ask(f"TRUNCATE {KEYSPACE}.low_water_marks")
        await session.close()
        return await self.node()


async def timed(call: Callable[[], Awaitable[object]]) -> float:
    started = time.perf_counter()
    await call()
    return (time.perf_counter() - started) * 1_000


async def reads(node: Callable[[], Awaitable[CassandraStore]], queue: Queue, when: str) -> list[Figure]:
    """Measures each kind of read on a node of its own, which `node` returns."""
    store = await node()

    async def scan() -> None:
        async for _ in store.scan(queue):
            pass

    touch = Figure(f"{when}: first touch of all rows", [await timed(scan)])
    store = await node()
    looks = Figure(f"{when}: one look at all rows", [await timed(lambda: store.occupied(queue, range(store.rows)))])
    store = await node()
    times = [await timed(lambda row=row: store.head(queue, row, 10)) for row in range(store.rows)]  # type: ignore[misc]
    return [touch, looks, Figure(f"{when}: head of a row", times)]


async def run(ring: Ring, count: int, rows: int) -> None:
    """Prints the table."""
    bench = Bench(ring, rows)
    await schema.apply(bench.options, {})
    store = await bench.node()

    async def same() -> CassandraStore:
        return store

    queue = await bench.queue(store, "worked")
    old = await bench.queue(store, "old", age_ms=14 * DAY_MS)
    figures = await reads(same, queue, "0 deleted")
    figures += await reads(same, old, "empty queue of 14 days")
    rate = await bench.send_and_delete(store, queue, count)
    figures += await reads(same, queue, f"{count:,} deleted, the same node")
    figures += await reads(bench.node, queue, f"{count:,} deleted, a new node with saved marks")
    figures += await reads(bench.forgetful_node, queue, f"{count:,} deleted, a new node and no marks")
    await bench.close()
    print(f"\nsent and deleted: {count:,} messages of 1 KiB, {rate:,.0f} a second\n")
    print("| read | times | p50 ms | p99 ms | max ms |\n| --- | --- | --- | --- | --- |")
    print("\n".join(figure.line() for figure in figures))
    print(f"\nby: python -m benchmarks.cassandra_tombstones --messages {count} --rows {rows}")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cassandra_tombstones", description=__doc__)
    parser.add_argument("--messages", type=int, default=1_000_000)
    parser.add_argument("--rows", type=int, default=100, help="partitions of the queue; 1 puts all tombstones into one")
    given = parser.parse_args()
    with Ring() as ring:
        asyncio.run(run(ring, given.messages, given.rows))


if __name__ == "__main__":
    main()
