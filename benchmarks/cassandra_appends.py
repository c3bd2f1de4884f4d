"""The client-side cost of an append to Cassandra: `python -m benchmarks.cassandra_appends [--messages N]`.

Starts a real node and prints the client's CPU (all threads) and messages per second, for single messages and for groups
of 16 and 64 in one iteration of the event loop, like requests that a server reads together.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import time

import uvloop

from cqs.clock import SystemClock
from cqs.ids import Addresses
from cqs.message import Message
from cqs.queue import Queue
from cqs.store.cassandra import CassandraStore, Options, schema
from deploy.cluster.ring import Ring

GROUPS = (1, 16, 64)
BODY = "x" * 1_024
LONE_SENDERS = 8


async def measure(store: CassandraStore, queue: Queue, addresses: Addresses, group: int, count: int) -> str:
    """Measures appends, then deletes. Returns one line of the table."""
    clock = SystemClock()
    rounds = count // group
    groups = [
        [Message(address=addresses.next(store.rows), body=BODY, sent_ms=clock.now_ms()) for _ in range(group)]
        for _ in range(rounds)
    ]
    senders = LONE_SENDERS if group == 1 else 1

    async def send(part: list[list[Message]]) -> None:
        for messages in part:
            await asyncio.gather(*[store.append(queue, [message]) for message in messages])

    async def delete(part: list[list[Message]]) -> None:
        for messages in part:
            await asyncio.gather(*[store.delete(queue, [message.address]) for message in messages])

    cells = [str(group)]
    for work in (send, delete):
        batches, cpu, wall = store.partitions.batches, time.process_time(), time.perf_counter()
        await asyncio.gather(*[work(groups[start::senders]) for start in range(senders)])
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
        cells += [
            f"{cpu / count * 1e6:.0f}",
            f"{count / wall:,.0f}",
            f"{count / (store.partitions.batches - batches):.1f}",
        ]
    return "| " + " | ".join(cells) + " |"


async def run(ring: Ring, count: int) -> None:
    """Prints the table."""
    options = Options(hosts=tuple(ring.contact_points), port=ring.port, keyspace="appends")
    await schema.apply(options, {})
    clock, rng = SystemClock(), random.Random()
    store = CassandraStore(options, clock)
    await store.open()
    now_ms = clock.now_ms()
    uid = rng.getrandbits(48)
    queue = Queue(account="0" * 12, name="appends", region="x", uid=uid, created_ms=now_ms, modified_ms=now_ms)
    addresses = Addresses(clock, rng)
    await measure(store, queue, addresses, 16, count // 4 // 16 * 16)
    print("| group | append µs CPU | appends/s | a batch | delete µs CPU | deletes/s | a batch |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for group in GROUPS:
        print(await measure(store, queue, addresses, group, count // group * group), flush=True)
    await store.close()
    print(f"\nby: python -m benchmarks.cassandra_appends --messages {count}")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cassandra_appends", description=__doc__)
    parser.add_argument("--messages", type=int, default=20_000)
    count = parser.parse_args().messages
    with Ring() as ring:
        uvloop.run(run(ring, count))


if __name__ == "__main__":
    main()
