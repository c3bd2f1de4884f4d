"""The cache of one of several data centres: a shard whose home is elsewhere is absent here.

    home here      ──► the cache
    being moved    ──► treated as absent: filled when the former home has stopped
    elsewhere      ──► treated as absent; changes in the store are passed to the home as well: sends as news at the next
                       beat, deletes and changed leases by a mark. A FIFO queue is served only at home: refused with 503

Not used where the store has one data centre; calls go straight to the cache there.
"""

from __future__ import annotations

from collections.abc import Sequence

from cqs.cache.counts import Counts
from cqs.cache.entry import Entry, State
from cqs.cache.interface import (
    Outcome,
    QueueCache,
    Residency,
    Revealed,
    Shard,
    ShardState,
    Sight,
    Taken,
    TakeRequest,
    Ticket,
)
from cqs.cache.page import Page
from cqs.errors import CacheUnavailable, OutcomeUnknown, ServiceUnavailable, StoreUnavailable
from cqs.service.homes import Homes


class HomedCache:
    """A `QueueCache`. Raises CacheUnavailable if the home can't be read: nothing is known of the shard then."""

    def __init__(self, cache: QueueCache, homes: Homes) -> None:
        self._cache = cache
        self._homes = homes

    async def state(self, shard: Shard) -> ShardState:
        if await self._is_here(shard):
            return await self._cache.state(shard)
        return ShardState(Residency.ABSENT, 0)

    async def begin_fill(self, shard: Shard, retention_ms: int) -> int | None:
        """Moves the home here if it may move, since this data centre has traffic. Also raises StoreUnavailable,
        OutcomeUnknown."""
        homes = self._homes
        if not await homes.is_here(shard) and await homes.may_take(shard):
            await self._cache.drop(shard)
            await homes.take(shard)
        return await self._cache.begin_fill(shard, retention_ms) if await homes.is_here(shard) else None

    async def fill(self, shard: Shard, epoch: int, entries: Sequence[Entry], *, is_last: bool) -> bool:
        return await self._is_here(shard) and await self._cache.fill(shard, epoch, entries, is_last=is_last)

    async def put(self, shard: Shard, entries: Sequence[Entry], epoch: int | None = None) -> Residency:
        if await self._is_here(shard):
            return await self._cache.put(shard, entries, epoch)
        if shard.is_fifo:
            await self._mark(shard)
        else:
            sent = [entry.address for entry in entries if entry.state is not State.IN_FLIGHT]
            self._homes.untold.setdefault(shard, []).extend(sent)
        return Residency.ABSENT

    async def take(self, shard: Shard, request: TakeRequest) -> Taken:
        if await self._is_here(shard):
            return await self._cache.take(shard, request)
        return Taken(received=[], residency=Residency.ABSENT)

    async def hide(self, shard: Shard, ticket: Ticket, until_ms: int) -> Outcome:
        if await self._is_here(shard):
            return await self._cache.hide(shard, ticket, until_ms)
        _refuse_fifo(shard)
        await self._mark(shard)
        raise CacheUnavailable("The queue's home is elsewhere.")

    async def fence(self, shard: Shard, tickets: Sequence[Ticket], hold_ms: int) -> list[Outcome]:
        if not await self._is_here(shard):
            _refuse_fifo(shard)
        return await self._cache.fence(shard, tickets, hold_ms)

    async def give_back(self, shard: Shard, tickets: Sequence[Ticket]) -> int:
        return await self._cache.give_back(shard, tickets) if await self._is_here(shard) else 0

    async def remove(self, shard: Shard, addresses: Sequence[int]) -> int:
        if await self._is_here(shard):
            return await self._cache.remove(shard, addresses)
        await self._mark(shard)
        return 0

    async def lookup(self, shard: Shard, addresses: Sequence[int]) -> list[Entry | None]:
        if await self._is_here(shard):
            return await self._cache.lookup(shard, addresses)
        return [None] * len(addresses)

    async def reveal(self, shard: Shard, retention_ms: int, limit: int) -> Revealed:
        return await self._cache.reveal(shard, retention_ms, limit)

    async def redelay(self, shard: Shard, delay_ms: int) -> None:
        await self._cache.redelay(shard, delay_ms)
        if not await self._is_here(shard):
            await self._mark(shard)

    async def peek(self, shard: Shard, state: State, after: int | None, limit: int) -> Page:
        return await self._cache.peek(shard, state, after, limit)

    async def browse(self, shard: Shard, state: State, after: int | None, limit: int, is_bare: bool = False) -> Page:
        return await self._cache.browse(shard, state, after, limit, is_bare)

    async def counts(self, shard: Shard) -> Counts:
        return await self._cache.counts(shard)

    async def survey(self, shards: Sequence[Shard]) -> list[Sight | None]:
        """As this data centre's cache has them; their homes are not checked."""
        return await self._cache.survey(shards)

    async def drop(self, shard: Shard) -> None:
        await self._cache.drop(shard)

    async def vesting(self, limit: int) -> list[Shard]:
        return await self._cache.vesting(limit)

    async def next_vesting_ms(self) -> int | None:
        return await self._cache.next_vesting_ms()

    async def _is_here(self, shard: Shard) -> bool:
        try:
            return await self._homes.is_here(shard)
        except (StoreUnavailable, OutcomeUnknown) as error:
            raise CacheUnavailable(f"The queue's home is not known: {error}") from error

    async def _mark(self, shard: Shard) -> None:
        try:
            await self._homes.mark(shard)
        except (StoreUnavailable, OutcomeUnknown) as error:
            raise CacheUnavailable(f"The queue's home could not be notified: {error}") from error


def _refuse_fifo(shard: Shard) -> None:
    if shard.is_fifo:
        raise ServiceUnavailable("Another data centre serves this queue, or did a moment ago. Try again.")
