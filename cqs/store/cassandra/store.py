"""The store as the service sees it: composes the parts, and holds the state of the event loop.

Every call passes a queue's storage id to the parts; operations that span several of them are here: an append confirms
its claims, a delete frees its leases and advances its marks, a move reads, writes, reads and deletes in that order, a
scan joins messages with leases.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence

from cqs import ids
from cqs.clock import Clock
from cqs.errors import StoreUnavailable, after_a_write
from cqs.message import Message
from cqs.queue import Queue, QueueName
from cqs.store.cassandra import schema
from cqs.store.cassandra.addresses import at_of_ms
from cqs.store.cassandra.catalog import Catalog
from cqs.store.cassandra.claims import Claims
from cqs.store.cassandra.earlier_clock import EarlierClock
from cqs.store.cassandra.lease_keeper import LeaseKeeper
from cqs.store.cassandra.lease_queues import LeaseQueues
from cqs.store.cassandra.leases import Leases
from cqs.store.cassandra.marks import Marks
from cqs.store.cassandra.messages import Messages
from cqs.store.cassandra.move_tasks import MoveTasks
from cqs.store.cassandra.options import Options
from cqs.store.cassandra.partitions import Partitions
from cqs.store.cassandra.scan import scan
from cqs.store.cassandra.session import Session
from cqs.store.cassandra.sweeping import Sweeping
from cqs.store.cassandra.takeovers import Takeovers
from cqs.store.group_commit import CLOSED
from cqs.store.interface import Claim, Lease, Move, MoveTask, Stored, Wanted

_IN_PART = "Only a part was done."


class CassandraStore:
    """A `Store` in a keyspace. Belongs to one event loop; can be opened once."""

    def __init__(self, options: Options, clock: Clock) -> None:
        self._options = options
        self._clock = clock
        self._is_open = False
        self._secret = b""
        self.session = Session(options)
        self.partitions = Partitions(self.session.write)
        time = EarlierClock(self.session, clock)
        self.marks = Marks(self.session, clock, time)
        self.messages = Messages(self.session, self.partitions, self.marks, clock)
        self._leases = Leases(self.session, self.partitions, clock, time)
        self.keeper = LeaseKeeper(clock, self.messages.existing, self._leases.write_ended)
        self._soon = LeaseQueues(self._write_leases)
        self.takeovers = Takeovers(self.session, self.messages, clock)
        self._claims = Claims(self.session, self.takeovers, clock)
        self._catalog = Catalog(self.session, clock)
        self._tasks = MoveTasks(self.session)
        self._sweeping = Sweeping(self.session, self.messages, clock, options.rows)
        self._keeping: asyncio.Task[None] | None = None

    datacenters: Sequence[str] = ()
    """The data centres with replicas, once the store is open."""

    @property
    def rows(self) -> int:
        return self._options.rows

    @property
    def reads_confirm(self) -> bool:
        return not self._options.is_each

    async def open(self) -> None:
        await self.session.connect()
        try:
            await schema.check(self.session, self._options)
            await self.session.prepare()
            self._secret = await schema.secret(self.session, self._options)
            self.datacenters = await schema.datacenters(self.session, self._options)
            await self._sweeping.adopt(self._catalog.storage_ids)
        except BaseException:
            await self.session.close()
            raise
        self._keeping = asyncio.create_task(self.keeper.run())
        self._is_open = True

    async def close(self) -> None:
        if not self._is_open:
            return
        self._is_open = False
        if self._keeping is not None:
            self._keeping.cancel()
        await self._soon.close()
        await self.keeper.settle(is_end=True)
        await self._claims.close()
        await self._sweeping.stop()
        await self.partitions.rest()
        await self.marks.rest()
        await self.session.close()

    async def highest_address(self) -> int:
        """Higher than what other nodes may have created so far. Their addresses have other incarnations, so only the
        order matters."""
        self._check_open()
        return ids.pack(at_of_ms(self._clock.now_ms() + 1), 0) - 1

    async def append(self, queue: Queue, messages: Sequence[Message]) -> None:
        self._check_open()
        if not queue.settings.is_fifo:
            await self.messages.append(queue.storage_id, messages)
            return
        addresses = [message.address for message in messages]
        try:
            confirmed_s = self._claims.begin_append(addresses)
            await self.messages.append(queue.storage_id, messages, confirmed_s=confirmed_s)
            with after_a_write(_IN_PART):
                await self._claims.end_append(addresses)
        except BaseException:
            self._claims.doubt(addresses)
            raise

    async def claim(self, queue: Queue, wanted: Sequence[Wanted], window_ms: int) -> list[Claim]:
        self._check_open()
        return await self._claims.claim(queue, wanted, window_ms)

    async def release(self, queue: Queue, addresses: Sequence[int]) -> None:
        self._check_open()
        await self._claims.release(addresses)

    async def delete(self, queue: Queue, addresses: Sequence[int]) -> None:
        self._check_open()
        self._forget_leases(queue, addresses)
        await self.messages.delete(queue.storage_id, addresses)
        self.marks.count_deleted(queue, addresses)

    async def move(self, source: Queue, target: Queue, moves: Sequence[Move]) -> list[Message]:
        self._check_open()
        there = await self.messages.existing(source.storage_id, [move.old_address for move in moves])
        leaving = [move for move in moves if move.old_address in there]
        if leaving:
            await self.messages.append(target.storage_id, [move.message for move in leaving])
        with after_a_write(_IN_PART):
            arrived = await self.messages.existing(target.storage_id, [move.message.address for move in moves])
            if leaving:
                await self.delete(source, [move.old_address for move in leaving])
        return [move.message for move in moves if move.message.address in arrived]

    async def read(self, queue: Queue, addresses: Sequence[int]) -> list[Message]:
        self._check_open()
        return await self.messages.read(queue.storage_id, addresses)

    async def head(self, queue: Queue, row: int, limit: int) -> list[Message]:
        self._check_open()
        return await self.messages.head(queue, row, limit)

    async def occupied(self, queue: Queue, rows: Sequence[int]) -> list[int]:
        self._check_open()
        return await self.messages.occupied(queue, rows)

    def scan(self, queue: Queue) -> AsyncIterator[list[Stored]]:
        self._check_open()
        return scan(self.messages, self._leases, self.marks, queue, self.rows)

    def deep_scan(self, queue: Queue) -> AsyncIterator[list[Stored]]:
        """Like `scan`, but from the oldest message that any retention could keep: finds what marks hide, such as
        messages that another data centre replicated late. For sweeps, and for a data centre that takes a queue over."""
        self._check_open()
        return scan(self.messages, self._leases, self.marks, queue, self.rows, is_deep=True)

    async def lease(self, queue: Queue, leases: Sequence[Lease]) -> None:
        self._check_open()
        self._soon.overtake(queue.storage_id, leases)
        await self._write_leases(queue.storage_id, self._leases.stamped(leases))

    def lease_soon(self, queue: Queue, leases: Sequence[Lease]) -> None:
        if self._is_open:
            self._soon.add(queue.storage_id, self._leases.stamped(leases))

    async def _write_leases(self, storage_id: int, leases: Sequence[Lease]) -> None:
        left_over = self.keeper.hold(storage_id, leases)
        await self._leases.write(storage_id, leases)
        if left_over:
            await self._leases.write_ended(storage_id, left_over)

    def _forget_leases(self, queue: Queue, addresses: Sequence[int]) -> None:
        self._soon.discard(queue.storage_id, addresses)
        self.keeper.forget(addresses)

    async def leases(self, queue: Queue, addresses: Sequence[int]) -> list[Lease | None]:
        self._check_open()
        known, there = await asyncio.gather(
            self._leases.find(queue, addresses), self.messages.existing(queue.storage_id, addresses)
        )
        return [lease if lease is not None and lease.address in there else None for lease in known]

    async def secret(self) -> bytes:
        self._check_open()
        return self._secret

    async def queues(self) -> list[Queue]:
        self._check_open()
        return await self._catalog.queues()

    async def find(self, key: QueueName) -> Queue | None:
        self._check_open()
        return await self._catalog.find(key)

    async def create(self, queue: Queue) -> Queue:
        self._check_open()
        return await self._catalog.create(queue)

    async def save(self, queue: Queue) -> bool:
        self._check_open()
        replaced = await self._catalog.save(queue)
        if replaced is not None and replaced != queue.storage_id:
            await self._sweeping.sweep(replaced)
        return replaced is not None

    async def drop(self, queue: Queue, now_ms: int) -> bool:
        self._check_open()
        garbage = await self._catalog.drop(queue, now_ms)
        if garbage is not None:
            await self._sweeping.sweep(garbage, is_queue_gone=True)
        return garbage is not None

    async def dropped_ms(self, key: QueueName) -> int:
        self._check_open()
        return await self._catalog.dropped_ms(key)

    async def move_tasks(self) -> list[MoveTask]:
        self._check_open()
        return await self._tasks.all()

    async def save_move_task(self, task: MoveTask) -> None:
        self._check_open()
        await self._tasks.save(task)

    async def swept(self) -> None:
        """Returns when no background work is left."""
        await self._sweeping.rest()
        await self.marks.rest()

    def _check_open(self) -> None:
        if not self._is_open:
            raise StoreUnavailable(CLOSED)
