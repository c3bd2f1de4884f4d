"""The store as the service sees it: composes the parts, and holds the state of the event loop.

On the loop: claims, leases nobody waits for, and the parts of the pass at start. Writer and reader own the file.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Sequence
from functools import partial
from pathlib import Path

from cqs.clock import Clock
from cqs.errors import StoreUnavailable
from cqs.message import Message
from cqs.queue import Queue, QueueName
from cqs.store.claims import Claims
from cqs.store.group_commit import CLOSED, Tally
from cqs.store.interface import Claim, Lease, Move, MoveTask, Stored, Wanted
from cqs.store.lease_buffer import LeaseBuffer
from cqs.store.sqlite import catalog, inventory, reader, schema, sql
from cqs.store.sqlite import claims as claim_rows
from cqs.store.sqlite.failures import told
from cqs.store.sqlite.folder import Folder
from cqs.store.sqlite.hands import Hands
from cqs.store.sqlite.jobs import Append, Delete, Leases, Work
from cqs.store.sqlite.upkeep import Upkeep

_ROW_WEIGHT = 512


class SqliteStore:
    """A `Store` in a data directory. Belongs to one event loop; can be opened once."""

    rows = 1
    reads_confirm = True

    def __init__(self, path: Path, clock: Clock, *, has_writer_process: bool = False) -> None:
        """`has_writer_process`: the writer is a process of its own; otherwise a thread."""
        self._clock = clock
        self._has_writer_process = has_writer_process
        self._folder = Folder(path)
        self._claims = Claims(clock, self._find_stored)
        self._leases_soon = LeaseBuffer(self._post_leases)
        self._parts: dict[int, inventory.Part] = {}
        self._secret = b""
        self._is_open = False
        self._hands: Hands | None = None
        self._upkeep: Upkeep | None = None

    @property
    def commits(self) -> Tally:
        """Statistics of the group commit so far."""
        return self.hands.commits.tally

    @property
    def hands(self) -> Hands:
        """Raises StoreUnavailable when the store is closed."""
        if not self._is_open or self._hands is None:
            raise StoreUnavailable(CLOSED)
        return self._hands

    async def open(self) -> None:
        assert self._hands is None, "a store is opened once"
        self._folder.take()
        try:
            writer_lock = self._folder.lock if self._has_writer_process else None
            self._hands = await asyncio.to_thread(Hands, self._folder.file, self._prepare, writer_lock)
            await self._hands.open()
            await self._load(self._hands)
        except BaseException as error:
            if self._hands is not None:
                await self._hands.close()
                self._hands = None
            self._folder.give_up()
            if isinstance(error, sqlite3.Error):
                raise told(error, self._folder.file) from error
            raise
        self._is_open = True

    def _prepare(self, connection: sqlite3.Connection) -> None:
        schema.create_or_check(connection, self._folder.file)
        self._secret = schema.secret_of(connection)

    async def _load(self, hands: Hands) -> None:
        living = {queue.storage_id for queue in await hands.read(catalog.queues)}
        found = await hands.read(lambda db: inventory.take(db, living))
        gone = await hands.read(lambda db: claim_rows.load(db, living, self._claims))
        for queue_uid, sequence in found.last_sequences.items():
            self._claims.raise_sequence(queue_uid, sequence)
        self._parts = found.parts
        self._upkeep = Upkeep(hands)
        self._upkeep.start(found.garbage, gone)
        hands.commits.observers.append(self._upkeep.commit_done)

    async def close(self) -> None:
        if not self._is_open or self._hands is None or self._upkeep is None:
            return
        self._leases_soon.flush()
        self._is_open = False
        await self._upkeep.stop()
        await self._hands.close()
        self._claims.release_all()
        self._folder.give_up()

    async def highest_address(self) -> int:
        return await self.hands.read(reader.highest_address)

    async def append(self, queue: Queue, messages: Sequence[Message]) -> None:
        commits = self.hands.commits
        storage_id = queue.storage_id
        if self._parts:
            self._parts.pop(storage_id, None)
        weight = _ROW_WEIGHT * len(messages)
        for message in messages:
            weight += message.weight
        if not queue.settings.is_fifo:
            await commits.submit(Append(storage_id, messages), weight)
            return
        addresses = [message.address for message in messages]
        try:
            await commits.submit(Append(storage_id, messages, self._claims.pending(addresses)), weight)
        except BaseException:
            self._claims.doubt(addresses)
            raise
        self._claims.confirm(addresses)

    async def claim(self, queue: Queue, wanted: Sequence[Wanted], window_ms: int) -> list[Claim]:
        commits = self.hands.commits
        expired = self._claims.pop_expired()
        if expired.addresses:
            commits.post(Work(partial(claim_rows.forget, expired)))
        return await self._claims.claim(queue, wanted, window_ms)

    async def release(self, queue: Queue, addresses: Sequence[int]) -> None:
        self._claims.doubt(addresses)
        stored = await self._find_stored(queue.storage_id, addresses)
        self._claims.confirm(stored)
        self._claims.release(addresses)

    async def _find_stored(self, storage_id: int, addresses: Sequence[int]) -> set[int]:
        """Which of the claimed addresses were stored: a claim is written in its message's commit, and outlives the
        message."""
        return await self.hands.read(lambda db: sql.present(db, "claims", storage_id, addresses))

    async def delete(self, queue: Queue, addresses: Sequence[int]) -> None:
        commits = self.hands.commits
        self._leases_soon.discard(addresses)
        if self._parts:
            self._parts.pop(queue.storage_id, None)
        await commits.submit(Delete(addresses), _ROW_WEIGHT * len(addresses))

    async def move(self, source: Queue, target: Queue, moves: Sequence[Move]) -> list[Message]:
        hands = self.hands
        self._leases_soon.discard([move.old_address for move in moves])
        for queue in (source, target):
            self._parts.pop(queue.storage_id, None)
        return await hands.move(source.storage_id, target.storage_id, moves)

    async def read(self, queue: Queue, addresses: Sequence[int]) -> list[Message]:
        return await self.hands.read_messages(queue.storage_id, addresses)

    async def head(self, queue: Queue, row: int, limit: int) -> list[Message]:
        found, after = list[int](), -1 if row == 0 else None
        while after is not None and len(found) < limit:
            step = partial(reader.head_step, queue.storage_id, after, limit - len(found))
            addresses, after = await self.hands.read(step)
            found += addresses
        return await self.read(queue, found) if found else []

    async def occupied(self, queue: Queue, rows: Sequence[int]) -> list[int]:
        return [0] if 0 in rows else []

    async def scan(self, queue: Queue) -> AsyncIterator[list[Stored]]:
        hands = self.hands
        part = self._parts.pop(queue.storage_id, None)
        if part is not None:
            for page in part.pages():
                yield page
                await asyncio.sleep(0)
            return
        after: int | None = -1
        while after is not None:
            stored, after = await hands.read(partial(reader.scan_step, queue.storage_id, after))
            if stored:
                yield stored

    async def leases(self, queue: Queue, addresses: Sequence[int]) -> list[Lease | None]:
        return await self.hands.read(partial(reader.leases_of, queue.storage_id, addresses))

    async def lease(self, queue: Queue, leases: Sequence[Lease]) -> None:
        commits = self.hands.commits
        self._leases_soon.overtake(leases)
        self._parts.pop(queue.storage_id, None)
        await commits.submit(Leases(leases), _ROW_WEIGHT * len(leases))

    def lease_soon(self, queue: Queue, leases: Sequence[Lease]) -> None:
        if self._is_open:
            if self._parts:
                self._parts.pop(queue.storage_id, None)
            self._leases_soon.add(leases)

    def _post_leases(self, leases: list[Lease]) -> None:
        self.hands.commits.post(Leases(leases), _ROW_WEIGHT * len(leases))

    async def secret(self) -> bytes:
        return self._secret

    async def queues(self) -> list[Queue]:
        return await self.hands.read(catalog.queues)

    async def find(self, key: QueueName) -> Queue | None:
        return await self.hands.read(lambda db: catalog.find(db, key))

    async def create(self, queue: Queue) -> Queue:
        return await self.hands.write(partial(catalog.create, queue=queue))

    async def save(self, queue: Queue) -> bool:
        replaced = await self.hands.write(partial(catalog.save, queue=queue))
        if replaced is not None and replaced != queue.storage_id:
            self._sweep(replaced)
        return replaced is not None

    async def drop(self, queue: Queue, now_ms: int) -> bool:
        garbage = await self.hands.write(partial(catalog.drop, queue=queue, now_ms=now_ms))
        self._claims.forget(queue.uid)
        if garbage is not None:
            self._sweep(garbage)
        return garbage is not None

    def _sweep(self, storage_id: int) -> None:
        self._parts.pop(storage_id, None)
        if self._upkeep is not None:
            self._upkeep.sweep([storage_id])

    async def dropped_ms(self, key: QueueName) -> int:
        now_ms = self._clock.now_ms()
        return await self.hands.read(lambda db: catalog.dropped_ms(db, key, now_ms))

    async def move_tasks(self) -> list[MoveTask]:
        return await self.hands.read(catalog.move_tasks)

    async def save_move_task(self, task: MoveTask) -> None:
        await self.hands.write(partial(catalog.save_move_task, task=task))

    async def swept(self) -> None:
        """Returns when no background work is left."""
        if self._upkeep is not None:
            await self._upkeep.rest()
