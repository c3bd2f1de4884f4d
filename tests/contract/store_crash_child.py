"""A process that writes to a store until it is killed, and prints each request and each acknowledgement.

    a <address>   append requested        A <address>   append acknowledged
    d <address>   delete requested        D <address>   delete acknowledged
    f <address> <dedup id>                F <address> <dedup id>          the same for a FIFO send
    l <address>   (not printed)           L <address>   a lease that was waited for, acknowledged

A line is written before the next step begins, so a printed acknowledgement was given before the kill.
"""

from __future__ import annotations

import asyncio
import os
import random
import sys
from pathlib import Path

from cqs.clock import SystemClock
from cqs.ids import Addresses
from cqs.message import Message
from cqs.queue import Queue, Settings
from cqs.store.interface import Lease, Wanted
from cqs.store.sqlite.store import SqliteStore

WRITERS = 8
WINDOW_MS = 3_600_000


def queues() -> tuple[Queue, Queue]:
    jobs = Queue(account="0", name="jobs", region="r", uid=1, created_ms=1, modified_ms=1)
    fifo = Queue(
        account="0", name="jobs.fifo", region="r", uid=2, created_ms=1, modified_ms=1, settings=Settings(is_fifo=True)
    )
    return jobs, fifo


def body_of(address: int) -> str:
    """Derives the body from the address, so that the parent can check it."""
    return f"{address:x}" * (1 + address % 97)


def say(*lines: str) -> None:
    os.write(1, "".join(f"{line}\n" for line in lines).encode())


class Child:
    def __init__(self, store: SqliteStore, seed: int) -> None:
        self.store = store
        self.rng = random.Random(seed)
        self.clock = SystemClock()
        self.addresses = Addresses(self.clock, random.Random())
        self.jobs, self.fifo = queues()
        self.alive: list[int] = []

    def message(self, **fields: object) -> Message:
        address = self.addresses.next()
        fields = {"address": address, "body": body_of(address), "sent_ms": self.clock.now_ms(), **fields}
        return Message(**fields)  # type: ignore[arg-type]

    async def write(self) -> None:
        while True:
            step = self.rng.random()
            if step < 0.5 or not self.alive:
                await self.append([self.message() for _ in range(self.rng.choice((1, 1, 1, 3, 10)))])
            elif step < 0.8:
                self.rng.shuffle(self.alive)
                gone, self.alive = self.alive[:3], self.alive[3:]
                await self.delete(gone)
            elif step < 0.9:
                await self.lease(self.rng.choice(self.alive))
            else:
                await self.send_fifo()

    async def append(self, messages: list[Message]) -> None:
        addresses = [message.address for message in messages]
        say(*(f"a {address}" for address in addresses))
        await self.store.append(self.jobs, messages)
        say(*(f"A {address}" for address in addresses))
        self.alive += addresses

    async def delete(self, addresses: list[int]) -> None:
        say(*(f"d {address}" for address in addresses))
        await self.store.delete(self.jobs, addresses)
        say(*(f"D {address}" for address in addresses))

    async def lease(self, address: int) -> None:
        await self.store.lease(self.jobs, [Lease(address, 1, 2, 3, 4)])
        say(f"L {address}")

    async def send_fifo(self) -> None:
        message = self.message(group="g", dedup_id=f"id-{self.rng.getrandbits(64):x}")
        await self.store.claim(self.fifo, [Wanted("", message.dedup_id or "", message.address)], WINDOW_MS)
        say(f"f {message.address} {message.dedup_id}")
        await self.store.append(self.fifo, [message])
        say(f"F {message.address} {message.dedup_id}")


async def main(folder: Path, seed: int, has_writer_process: bool) -> None:
    store = SqliteStore(folder, SystemClock(), has_writer_process=has_writer_process)
    await store.open()
    child = Child(store, seed)
    child.addresses.raise_above(await store.highest_address())
    for queue in queues():
        await store.create(queue)
    say("ready")
    await asyncio.gather(*(child.write() for _ in range(WRITERS)))


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3] == "process"))
