"""The in-memory store: dictionaries that implement `cqs.store.interface` exactly, for `--in-memory` and tests.

Nothing here waits for a disk, so each call is one step of the event loop, except a claim, which may wait for another
send's append as in every backend. The contents survive `close` and `open`, so that tests can restart a server on them.
"""

from __future__ import annotations

import heapq
import os
from collections.abc import AsyncIterator, Sequence
from itertools import islice

from cqs.clock import Clock
from cqs.errors import StoreUnavailable
from cqs.message import Message
from cqs.queue import Queue, QueueName
from cqs.store.claims import Claims
from cqs.store.group_commit import CLOSED
from cqs.store.interface import DROPPED_KEPT_MS, MOVE_TASKS_KEPT, Claim, Lease, Move, MoveTask, Stored, Wanted
from cqs.store.tombstones import Tombstones

SCAN_PAGE = 1_000


class MemoryStore:
    """A `Store`. Belongs to one event loop."""

    rows = 1
    reads_confirm = True

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._is_open = False
        self._secret = os.urandom(32)
        self._messages: dict[int, dict[int, Message]] = {}
        self._leases: dict[int, Lease] = {}
        self._tombstones = Tombstones()
        self._claims = Claims(clock, self._find_stored)
        self._queues: dict[QueueName, Queue] = {}
        self._dropped: dict[QueueName, int] = {}
        self._tasks: dict[str, MoveTask] = {}
        self._highest = 0

    async def open(self) -> None:
        self._is_open = True

    async def close(self) -> None:
        self._is_open = False
        self._claims.release_all()

    async def highest_address(self) -> int:
        self._check_open()
        return self._highest

    async def append(self, queue: Queue, messages: Sequence[Message]) -> None:
        self._check_open()
        self._insert(queue, messages)
        if queue.settings.is_fifo:
            self._claims.confirm([message.address for message in messages])

    def _insert(self, queue: Queue, messages: Sequence[Message]) -> None:
        held = self._messages.setdefault(queue.storage_id, {})
        for message in messages:
            if message.address not in held and message.address not in self._tombstones:
                held[message.address] = message
                self._highest = max(self._highest, message.address)

    async def claim(self, queue: Queue, wanted: Sequence[Wanted], window_ms: int) -> list[Claim]:
        self._check_open()
        self._claims.pop_expired()
        return await self._claims.claim(queue, wanted, window_ms)

    async def release(self, queue: Queue, addresses: Sequence[int]) -> None:
        self._check_open()
        stored = await self._find_stored(queue.storage_id, addresses)
        self._claims.confirm(stored)
        self._claims.release(addresses)

    async def _find_stored(self, storage_id: int, addresses: Sequence[int]) -> set[int]:
        return self._messages.get(storage_id, {}).keys() & set(addresses)

    async def delete(self, queue: Queue, addresses: Sequence[int]) -> None:
        self._check_open()
        self._delete(queue, addresses)

    def _delete(self, queue: Queue, addresses: Sequence[int]) -> None:
        held = self._messages.get(queue.storage_id, {})
        for address in addresses:
            held.pop(address, None)
            self._leases.pop(address, None)
        self._tombstones.add(addresses)

    async def move(self, source: Queue, target: Queue, moves: Sequence[Move]) -> list[Message]:
        self._check_open()
        held = self._messages.get(source.storage_id, {})
        self._insert(target, [move.message for move in moves if move.old_address in held])
        self._delete(source, [move.old_address for move in moves])
        arrived = self._messages.get(target.storage_id, {})
        return [move.message for move in moves if move.message.address in arrived]

    async def read(self, queue: Queue, addresses: Sequence[int]) -> list[Message]:
        self._check_open()
        held = self._messages.get(queue.storage_id, {})
        return [held[address] for address in addresses if address in held]

    async def head(self, queue: Queue, row: int, limit: int) -> list[Message]:
        self._check_open()
        held = self._messages.get(queue.storage_id, {})
        return [held[address] for address in heapq.nsmallest(limit, held)] if row == 0 else []

    async def occupied(self, queue: Queue, rows: Sequence[int]) -> list[int]:
        self._check_open()
        return [0] if 0 in rows and self._messages.get(queue.storage_id) else []

    async def scan(self, queue: Queue) -> AsyncIterator[list[Stored]]:
        self._check_open()
        addresses = iter(sorted(self._messages.get(queue.storage_id, {})))
        while page := list(islice(addresses, SCAN_PAGE)):
            held = self._messages.get(queue.storage_id, {})
            yield [self._stored(held[address]) for address in page if address in held]

    def _stored(self, message: Message) -> Stored:
        return Stored(
            message.address,
            message.sent_ms,
            message.visible_ms,
            message.group,
            message.sequence,
            self._leases.get(message.address),
        )

    async def leases(self, queue: Queue, addresses: Sequence[int]) -> list[Lease | None]:
        self._check_open()
        held = self._messages.get(queue.storage_id, {})
        return [self._leases.get(address) if address in held else None for address in addresses]

    async def lease(self, queue: Queue, leases: Sequence[Lease]) -> None:
        self._check_open()
        self.lease_soon(queue, leases)

    def lease_soon(self, queue: Queue, leases: Sequence[Lease]) -> None:
        held = self._messages.get(queue.storage_id, {})
        for lease in leases:
            known = self._leases.get(lease.address)
            if lease.address in held and (known is None or known.receive_number <= lease.receive_number):
                self._leases[lease.address] = lease

    async def secret(self) -> bytes:
        self._check_open()
        return self._secret

    async def queues(self) -> list[Queue]:
        self._check_open()
        return list(self._queues.values())

    async def find(self, key: QueueName) -> Queue | None:
        self._check_open()
        return self._queues.get(key)

    async def create(self, queue: Queue) -> Queue:
        self._check_open()
        return self._queues.setdefault(queue.key, queue)

    async def save(self, queue: Queue) -> bool:
        self._check_open()
        known = self._queues.get(queue.key)
        if known is None or known.uid != queue.uid or known.version != queue.version - 1:
            return False
        self._queues[queue.key] = queue
        if known.storage_id != queue.storage_id:
            self._forget(known.storage_id)
        return True

    async def drop(self, queue: Queue, now_ms: int) -> bool:
        self._check_open()
        known = self._queues.get(queue.key)
        if known is None or known.uid != queue.uid:
            return False
        del self._queues[queue.key]
        self._dropped = {key: ms for key, ms in self._dropped.items() if ms > now_ms - DROPPED_KEPT_MS}
        self._dropped[queue.key] = now_ms
        self._claims.forget(queue.uid)
        self._forget(known.storage_id)
        return True

    def _forget(self, storage_id: int) -> None:
        for address in self._messages.pop(storage_id, {}):
            self._leases.pop(address, None)

    async def dropped_ms(self, key: QueueName) -> int:
        self._check_open()
        dropped_ms = self._dropped.get(key, 0)
        return dropped_ms if dropped_ms > self._clock.now_ms() - DROPPED_KEPT_MS else 0

    async def move_tasks(self) -> list[MoveTask]:
        self._check_open()
        return sorted(self._tasks.values(), key=lambda task: (task.started_ms, task.handle), reverse=True)

    async def save_move_task(self, task: MoveTask) -> None:
        self._check_open()
        self._tasks[task.handle] = task
        others = [other for other in await self.move_tasks() if other.source == task.source]
        for other in others[MOVE_TASKS_KEPT:]:
            del self._tasks[other.handle]

    def _check_open(self) -> None:
        if not self._is_open:
            raise StoreUnavailable(CLOSED)
