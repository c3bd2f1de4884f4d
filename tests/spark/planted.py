"""A journal of messages in a real store, and known faults made directly in the store: reconciling must find the same in
every store."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import msgspec

from cqs import ids
from cqs.message import Message
from cqs.queue import Queue
from cqs.store.cassandra import CassandraStore, Options
from cqs.store.cassandra.addresses import place_of, stamp_of
from cqs.store.interface import Store
from cqs.store.sqlite.store import SqliteStore
from cqs.testing.clock import ManualClock
from tests.contract.cassandra_home import ask
from tests.spark.golden import Golden

SENT, CONSUMED, PURGED = 60, 20, 5
LOST, ORPHANS, REVIVED, CORRUPTED = 4, 3, 2, 5
STORED = SENT - CONSUMED - LOST + ORPHANS + REVIVED


class Vandal(Protocol):
    """A store, and methods that change its data directly."""

    def store(self, clock: ManualClock) -> Store: ...

    async def remove(self, queue: Queue, messages: Sequence[Message]) -> None: ...

    async def add(self, queue: Queue, messages: Sequence[Message]) -> None:
        """Adds messages to the store, even if they were deleted."""

    async def garble(self, queue: Queue, messages: Sequence[Message]) -> None:
        """Changes the bodies of messages."""


@dataclass
class InSqlite:
    """Changes SQLite's file."""

    folder: Path

    def store(self, clock: ManualClock) -> Store:
        return SqliteStore(self.folder, clock)

    async def remove(self, queue: Queue, messages: Sequence[Message]) -> None:
        self._run("DELETE FROM messages WHERE id = ?", [(ids.key_of(one.address),) for one in messages])

    async def add(self, queue: Queue, messages: Sequence[Message]) -> None:
        values = [
            (ids.key_of(one.address), queue.storage_id, ids.tail_of(one.address), one.body.encode()) for one in messages
        ]
        insert = (
            "INSERT INTO messages (id, queue, tail, body, sequence, visible_ms, checksum) VALUES (?, ?, ?, ?, 0, 0, 0)"
        )
        self._run(insert, values)

    async def garble(self, queue: Queue, messages: Sequence[Message]) -> None:
        self._run("UPDATE messages SET body = x'00' WHERE id = ?", [(ids.key_of(one.address),) for one in messages])

    def _run(self, statement: str, values: Sequence[tuple[object, ...]]) -> None:
        with closing(sqlite3.connect(self.folder / "messages.db")) as file, file:
            file.executemany(statement, values)


@dataclass
class InCassandra:
    """Changes the Cassandra keyspace. Its writes have higher timestamps than the messages' own inserts and deletes."""

    options: Options

    def store(self, clock: ManualClock) -> Store:
        return CassandraStore(self.options, clock)

    async def remove(self, queue: Queue, messages: Sequence[Message]) -> None:
        where = "queue_id = %s AND row = %s AND at = %s AND incarnation = %s"
        for one in messages:
            values = (stamp_of(one.address) + 1, *_key(queue, one))
            await ask(self.options, f"DELETE FROM messages USING TIMESTAMP %s WHERE {where}", values=values)

    async def add(self, queue: Queue, messages: Sequence[Message]) -> None:
        insert = (
            "INSERT INTO messages (queue_id, row, at, incarnation, checksum, body) VALUES (%s, %s, %s, %s, 0, %s)"
            " USING TIMESTAMP %s"
        )
        for one in messages:
            await ask(self.options, insert, values=(*_key(queue, one), one.body.encode(), stamp_of(one.address) + 9))

    async def garble(self, queue: Queue, messages: Sequence[Message]) -> None:
        await self.add(queue, [msgspec.structs.replace(one, body="garbled") for one in messages])


def _key(queue: Queue, message: Message) -> tuple[int, ...]:
    return queue.storage_id, ids.row_of(message.address), *place_of(message.address)


async def plant(vandal: Vandal, journal: Path, seed: int) -> None:
    """Sends, consumes and purges in the store and the journal, then plants the faults."""
    golden = Golden(journal, seed, rows=100)
    orders, purged = golden.queue(f"orders-{seed}"), golden.queue(f"purged-{seed}")
    store = vandal.store(golden.clock)
    await store.open()
    for queue in (orders, purged):
        await store.create(queue)
    messages = golden.send(orders, SENT)
    await store.append(orders, messages)
    random.Random(seed).shuffle(messages)
    consumed, kept = messages[:CONSUMED], messages[CONSUMED:]
    golden.consume(orders, *consumed)
    await store.delete(orders, [one.address for one in consumed])
    await store.append(purged, golden.send(purged, PURGED))
    empty = msgspec.structs.replace(purged, generation=1, version=purged.version + 1)
    golden.node.purged(empty)
    assert await store.save(empty)
    await store.close()
    golden.close()
    await vandal.remove(orders, kept[:LOST])
    await vandal.garble(orders, kept[LOST : LOST + CORRUPTED])
    await vandal.add(orders, consumed[:REVIVED])
    await vandal.add(orders, [golden.message(orders) for _ in range(ORPHANS)])
