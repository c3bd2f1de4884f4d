"""The memory backend: the readable specification of QueueCache, and the hot path of a server without Redis.

    MemoryCache ── shards ──► MemoryShard ──► Ledger ──► entries, due index
         │                                      └──────► line: StandardLine (+ Tenants) or FifoLine (+ Groups)
         └── for all shards: body budget, tombstones, vesting index

It belongs to one event loop and does not await within a step, so each call is atomic. A message takes its Entry, two
numbers, a slot in the dict of entries and one in its line: about 230 bytes without its body.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence, Set

from cqs.cache.bodies import BodyBudget
from cqs.cache.counts import Counts
from cqs.cache.entry import Entry, State
from cqs.cache.interface import Outcome, Residency, Revealed, Shard, ShardState, Sight, Taken, TakeRequest, Ticket
from cqs.cache.memory_shard import MemoryShard
from cqs.cache.page import Page
from cqs.cache.tombstones import Tombstones
from cqs.cache.vesting import VestingIndex
from cqs.clock import Clock
from cqs.receipt import first_receive_number

_ABSENT = ShardState(Residency.ABSENT, 0)
_EPOCH_BITS = 53
_FREE_BATCH = 10_000


class MemoryCache:
    """`QueueCache` in this process. `body_budget_bytes` limits the message contents kept, across all shards."""

    def __init__(self, clock: Clock, rng: random.Random, body_budget_bytes: int) -> None:
        self._clock = clock
        self._rng = rng
        self._shards: dict[Shard, MemoryShard] = {}
        self._bodies = BodyBudget(body_budget_bytes)
        self._tombstones = Tombstones(clock.now_ms())
        self._vesting = VestingIndex()
        self._number_min = 0

    async def state(self, shard: Shard) -> ShardState:
        held = self._shards.get(shard)
        return _ABSENT if held is None else ShardState(held.residency, held.epoch)

    async def begin_fill(self, shard: Shard, retention_ms: int) -> int | None:
        if shard in self._shards:
            return None
        epoch = self._rng.getrandbits(_EPOCH_BITS) or 1
        number = max(first_receive_number(self._clock.now_ms()), self._number_min)
        self._shards[shard] = MemoryShard(shard, epoch, number, retention_ms, self._bodies, self._vesting)
        return epoch

    async def fill(self, shard: Shard, epoch: int, entries: Sequence[Entry], *, is_last: bool) -> bool:
        held = self._shards.get(shard)
        if held is None or held.epoch != epoch:
            return False
        now_ms = self._clock.now_ms()
        graves = self._tombstones.of(shard, now_ms)
        for entry in entries:
            if _is_new(held, entry.address, graves):
                held.fill(entry, now_ms)
        if is_last:
            held.end_fill()
            self._tombstones.add(shard, held.removed, now_ms)
            held.removed = set()
        return True

    async def put(self, shard: Shard, entries: Sequence[Entry], epoch: int | None = None) -> Residency:
        held = self._shards.get(shard)
        if held is None or epoch not in (None, held.epoch):
            return Residency.ABSENT
        now_ms = self._clock.now_ms()
        graves = self._tombstones.of(shard, now_ms)
        for entry in entries:
            held.see(entry)
            if _is_new(held, entry.address, graves):
                held.put(entry, now_ms)
        return held.residency

    async def take(self, shard: Shard, request: TakeRequest) -> Taken:
        held = self._shards.get(shard)
        return (
            Taken(received=[], residency=Residency.ABSENT) if held is None else held.take(request, self._clock.now_ms())
        )

    async def hide(self, shard: Shard, ticket: Ticket, until_ms: int) -> Outcome:
        held = self._shards.get(shard)
        return Outcome.GONE if held is None else held.hide(ticket, until_ms, self._clock.now_ms())

    async def fence(self, shard: Shard, tickets: Sequence[Ticket], hold_ms: int) -> list[Outcome]:
        held = self._shards.get(shard)
        if held is None:
            return [Outcome.GONE] * len(tickets)
        now_ms = self._clock.now_ms()
        return [held.fence(ticket, hold_ms, now_ms) for ticket in tickets]

    async def give_back(self, shard: Shard, tickets: Sequence[Ticket]) -> int:
        held = self._shards.get(shard)
        return 0 if held is None else held.give_back(tickets, self._clock.now_ms())

    async def remove(self, shard: Shard, addresses: Sequence[int]) -> int:
        held = self._shards.get(shard)
        if held is None:
            return 0
        now_ms = self._clock.now_ms()
        if held.residency is Residency.READY:
            self._tombstones.add(shard, addresses, now_ms)
        else:
            held.removed.update(addresses)
        return held.remove(addresses, now_ms)

    async def reveal(self, shard: Shard, retention_ms: int, limit: int) -> Revealed:
        held = self._shards.get(shard)
        return Revealed(0, [], None) if held is None else held.reveal(retention_ms, limit, self._clock.now_ms())

    async def redelay(self, shard: Shard, delay_ms: int) -> None:
        held = self._shards.get(shard)
        if held is not None:
            held.redelay(delay_ms, self._clock.now_ms())

    async def peek(self, shard: Shard, state: State, after: int | None, limit: int) -> Page:
        held = self._shards.get(shard)
        return Page([], None) if held is None else await held.peek(state, after, limit)

    async def browse(self, shard: Shard, state: State, after: int | None, limit: int, is_bare: bool = False) -> Page:
        """In address order, like `peek`: scanning memory is fast, and one look at everything beats several."""
        return await self.peek(shard, state, after, limit)

    async def lookup(self, shard: Shard, addresses: Sequence[int]) -> list[Entry | None]:
        held = self._shards.get(shard)
        return [None] * len(addresses) if held is None else held.lookup(addresses)

    async def counts(self, shard: Shard) -> Counts:
        held = self._shards.get(shard)
        return Counts() if held is None else held.counts(self._clock.now_ms())

    async def survey(self, shards: Sequence[Shard]) -> list[Sight | None]:
        return [Sight(await self.state(shard), await self.counts(shard)) for shard in shards]

    async def drop(self, shard: Shard) -> None:
        held = self._shards.pop(shard, None)
        if held is not None:
            self._tombstones.forget(shard)
            self._number_min = max(self._number_min, held.number)
            await _free(held.close())

    async def vesting(self, limit: int) -> list[Shard]:
        return self._vesting.take(self._clock.now_ms(), limit)

    async def next_vesting_ms(self) -> int | None:
        return self._vesting.next_ms()


def _is_new(held: MemoryShard, address: int, graves: tuple[Set[int], Set[int]]) -> bool:
    lately, earlier = graves
    return not (held.knows(address) or address in held.removed or address in lately or address in earlier)


async def _free(entries: dict[int, Entry]) -> None:
    """Frees a million messages without blocking the event loop. Nothing else refers to them."""
    while len(entries) > _FREE_BATCH:
        for _ in range(_FREE_BATCH):
            entries.popitem()
        await asyncio.sleep(0)
