"""The environment of a store under test, which can be opened, closed, reopened and crashed. Also makes messages."""

from __future__ import annotations

import random
from typing import Protocol

import msgspec

from cqs.ids import Addresses
from cqs.message import Message
from cqs.queue import DedupScope, Queue, Settings
from cqs.store.interface import Lease, Stored, Wanted
from cqs.store.interface import Store as Store
from cqs.testing.clock import ManualClock

WINDOW_MS = 300_000


class Home(Protocol):
    """The storage of one store under test."""

    async def open(self) -> Store:
        """Opens a store on the data that the last one left."""

    async def reopen(self, store: Store) -> Store:
        """Closes the store and opens another on the same data."""

    async def crash(self, store: Store) -> Store:
        """Opens another store on the data as they are now, without closing or finishing anything."""

    async def close(self) -> None:
        """Closes all open stores."""


class Maker:
    """Makes queues and messages from one seed and one clock."""

    def __init__(self, clock: ManualClock, seed: int = 20_261_127) -> None:
        self.clock = clock
        self._rng = random.Random(seed)
        self._addresses = Addresses(clock, self._rng)

    def queue(self, name: str = "jobs", settings: Settings | None = None) -> Queue:
        now_ms = self.clock.now_ms()
        return Queue(
            account="000000000000",
            name=name,
            region="us-east-1",
            uid=self._rng.getrandbits(48),
            created_ms=now_ms,
            modified_ms=now_ms,
            settings=settings or Settings(),
        )

    def fifo(self, name: str = "jobs.fifo", scope: DedupScope = DedupScope.QUEUE) -> Queue:
        return self.queue(name, Settings(is_fifo=True, dedup_scope=scope))

    def address(self) -> int:
        return self._addresses.next()

    def message(self, body: str = "hello", **fields: object) -> Message:
        message = Message(address=self.address(), body=body, sent_ms=self.clock.now_ms())
        return msgspec.structs.replace(message, **fields)

    def messages(self, count: int) -> list[Message]:
        return [self.message(f"body {number}") for number in range(count)]

    def wanted(self, dedup_id: str, scope: str = "") -> Wanted:
        return Wanted(scope, dedup_id, self.address())


def purged(queue: Queue) -> Queue:
    return msgspec.structs.replace(queue, generation=queue.generation + 1, version=queue.version + 1)


def lease_of(message: Message, number: int = 1, until_ms: int = 9_000, count: int = 1) -> Lease:
    return Lease(message.address, until_ms, count, 5_000, number)


def stored_of(message: Message, lease: Lease | None = None) -> Stored:
    return Stored(message.address, message.sent_ms, message.visible_ms, message.group, message.sequence, lease)


async def scanned(store: Store, queue: Queue) -> list[Stored]:
    return [stored async for page in store.scan(queue) for stored in page]


async def held(store: Store, queue: Queue) -> list[int]:
    """Returns the addresses of the queue's messages, in scan order."""
    return [stored.address for stored in await scanned(store, queue)]


def addresses_of(messages: list[Message]) -> list[int]:
    return [message.address for message in messages]
