"""QueueCache on Redis servers: each shard lives on one of them, and each call runs a script there.

    shard ──owner (rendezvous)──► server ──gate (breaker)──► link ──► script

When a server can't be reached, calls on its shards raise CacheUnavailable; other shards are not affected. A take whose
answer was lost is retried once under its request id, so it returns the same messages: every take has an id. Any other
failed call may have taken effect; all calls are safe to repeat.

A shard stays in the cache as long as it is used (`keep_ms`). During a fill it only lives from page to page, so a filler
that dies leaves it absent.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import count
from typing import TypeVar, cast

from cqs.cache.counts import Counts
from cqs.cache.entry import Entry, State
from cqs.cache.interface import (
    BROWSED_MAX,
    VESTING_LEASE_MS,
    Outcome,
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
from cqs.cache.redis import browse, codec, keys
from cqs.cache.redis.peek import page_of
from cqs.cache.redis.replies import ConnectionLost, Reply
from cqs.cache.redis.runner import ScriptRunner
from cqs.cache.redis.scripts import load
from cqs.cache.redis.servers import Servers
from cqs.cache.redis.survey import look, survey

KEEP_MS = 3_600_000
FILL_LEASE_MS = 10_000
RETRY_REPLAY_MS = 5_000
"""How long the answer of a take without a request id is kept for our own retry."""
SLOTS = 256
"""How many answers of this node's takes are kept at a time in each shard."""
ENTRIES_MAX, FIFO_MAX = 500, 100
"""Maximum number of messages per script. Larger puts, fills, lookups and (FIFO) reveals are split into several scripts,
so that none blocks the server for long."""
LOOKS_MAX = 100
_OUTCOME = {b"done": Outcome.DONE, b"gone": Outcome.GONE, b"stale": Outcome.STALE}
_EPOCH_BITS = 53

T = TypeVar("T")

_BEGIN_FILL, _FILL, _PUT, _TAKE, _HIDE = map(load, ("begin_fill", "fill", "put", "take", "hide"))
_FENCE, _GIVE_BACK, _REMOVE, _REVEAL, _REDELAY = map(load, ("fence", "give_back", "remove", "reveal", "redelay"))
_SCAN, _BROWSE, _LOOKUP, _DROP, _STATE = map(load, ("scan", "browse", "lookup", "drop", "state"))
_VESTING, _NEXT_VESTING = map(load, ("vesting", "next_vesting"))


class RedisCache:
    """`servers` by name; `owner` returns the name of the server that holds a key, the same on every node. `now_ms`
    overrides the servers' time in tests."""

    def __init__(
        self,
        servers: Mapping[str, ScriptRunner],
        owner: Callable[[bytes], str],
        rng: random.Random,
        keep_ms: int = KEEP_MS,
        now_ms: Callable[[], int] | None = None,
    ) -> None:
        self._rng = rng
        self._life = b"%016x" % rng.getrandbits(64)
        self.servers = Servers(servers, owner, keep_ms, now_ms, self._life)
        self._run, self._free = self.servers.run, self.servers.run_freeing
        self._takes = count()

    async def start(self) -> None:
        """Connects to all servers; keeps retrying those that can't be reached."""
        await self.servers.start()

    async def close(self) -> None:
        """Idempotent."""
        await self.servers.close()

    def server_of(self, shard: Shard) -> ScriptRunner:
        """The server that the shard lives on."""
        return self.servers.of(shard)

    async def state(self, shard: Shard) -> ShardState:
        residency, epoch = cast("list[bytes]", await self._run(_STATE, shard))
        return ShardState(codec.RESIDENCY[residency], int(epoch))

    async def begin_fill(self, shard: Shard, retention_ms: int) -> int | None:
        epoch = self._rng.getrandbits(_EPOCH_BITS) or 1
        is_ours = await self._run(_BEGIN_FILL, shard, keys.kind(shard), epoch, FILL_LEASE_MS, retention_ms)
        return epoch if is_ours else None

    async def fill(self, shard: Shard, epoch: int, entries: Sequence[Entry], *, is_last: bool) -> bool:
        pages = _pages(entries, FIFO_MAX if shard.is_fifo else ENTRIES_MAX)
        for number, page in enumerate(pages, 1):
            is_end = int(is_last and number == len(pages))
            words = self._entry_words(shard, page)
            if not await self._run(_FILL, shard, epoch, is_end, FILL_LEASE_MS, *words):
                return False
        return True

    async def put(self, shard: Shard, entries: Sequence[Entry], epoch: int | None = None) -> Residency:
        residency: Reply = b"a"
        fence = b"" if epoch is None else b"%d" % epoch
        for page in _pages(entries):
            residency = await self._free(_PUT, shard, len(page), fence, *self._entry_words(shard, page))
        return codec.RESIDENCY[cast(bytes, residency)]

    async def take(self, shard: Shard, request: TakeRequest) -> Taken:
        request_id, replay_ms, slot = request.request_id.encode(), request.replay_ms, b""
        if not request_id:
            number = next(self._takes)
            request_id, replay_ms, slot = b"%x" % number, RETRY_REPLAY_MS, b"%b-%x" % (self._life, number % SLOTS)
        words = (
            request.count_max,
            request.visibility_ms,
            request.retention_ms,
            request.receive_count_max,
            request.in_flight_max,
            request_id,
            replay_ms,
            slot,
            int(request.is_waiting),
        )
        freed = 0 if request.visibility_ms else request.count_max
        for _ in range(LOOKS_MAX):
            try:
                reply = await self._free(_TAKE, shard, freed, *words)
            except ConnectionLost:
                if not await self.servers.of(shard).regained():
                    raise
                reply = await self._free(_TAKE, shard, freed, *words)
            residency, is_over, is_unfinished, received_ms, received, dead, expired = cast("list[int]", reply)
            if not is_unfinished:
                break
        return Taken(
            received=codec.received_of(cast("list[bytes | None]", received), received_ms),
            dead=codec.received_of(cast("list[bytes | None]", dead), received_ms) if dead else [],
            expired=[codec.address_of(word) for word in cast("list[bytes]", expired)],
            residency=codec.RESIDENCY[cast(bytes, residency)],
            is_over_limit=bool(is_over),
        )

    async def hide(self, shard: Shard, ticket: Ticket, until_ms: int) -> Outcome:
        words = (*codec.ticket_words([ticket]), max(0, until_ms))
        return _OUTCOME[cast(bytes, await self._free(_HIDE, shard, 1, *words))]

    async def fence(self, shard: Shard, tickets: Sequence[Ticket], hold_ms: int) -> list[Outcome]:
        outcomes = await self._run(_FENCE, shard, hold_ms, *codec.ticket_words(tickets))
        found = [_OUTCOME[word] for word in cast("list[bytes]", outcomes)]
        return found or [Outcome.GONE] * len(tickets)

    async def give_back(self, shard: Shard, tickets: Sequence[Ticket]) -> int:
        return cast(int, await self._free(_GIVE_BACK, shard, len(tickets), *codec.ticket_words(tickets)))

    async def remove(self, shard: Shard, addresses: Sequence[int]) -> int:
        known = 0
        for page in _pages(addresses):
            if page:
                freed = len(page) if shard.is_fifo else 0
                known += cast(int, await self._free(_REMOVE, shard, freed, *map(codec.address_word, page)))
        return known

    async def reveal(self, shard: Shard, retention_ms: int, limit: int) -> Revealed:
        visible, expired = 0, list[int]()
        with self.servers.freeing(shard) as free:
            while True:
                page = min(limit - visible - len(expired), FIFO_MAX) if shard.is_fifo else limit
                reply = await free(_REVEAL, page, retention_ms, page, keys.vesting_name(shard))
                count, next_ms, words = cast("tuple[int, bytes, list[bytes]]", reply)
                visible += count
                expired += map(codec.address_of, words)
                if count + len(words) < page or visible + len(expired) >= limit:
                    return Revealed(visible, expired, int(next_ms) if next_ms else None)

    async def redelay(self, shard: Shard, delay_ms: int) -> None:
        for is_later in (0, 1):
            cursor: Reply = b""
            while True:
                cursor = await self._run(_REDELAY, shard, delay_ms, cast(bytes, cursor), ENTRIES_MAX, is_later)
                if not cursor:
                    break

    async def peek(self, shard: Shard, state: State, after: int | None, limit: int) -> Page:
        async def scan(cursor: bytes) -> tuple[bytes, list[bytes]]:
            reply = await self._run(_SCAN, shard, state, cursor, ENTRIES_MAX)
            return cast("tuple[bytes, list[bytes]]", reply)

        async def look(addresses: Sequence[int]) -> list[Entry | None]:
            return await self.lookup(shard, addresses)

        return await page_of(scan, look, state, after, limit)

    async def browse(self, shard: Shard, state: State, after: int | None, limit: int, is_bare: bool = False) -> Page:
        words = (*browse.spot_of(after), min(limit, BROWSED_MAX), int(not is_bare))
        return browse.page_of(await self._run(_BROWSE, shard, state, *words))

    async def lookup(self, shard: Shard, addresses: Sequence[int]) -> list[Entry | None]:
        known: list[Entry | None] = []
        for page in _pages(addresses):
            reply = await self._run(_LOOKUP, shard, *map(codec.address_word, page)) if page else []
            found = cast("list[list[bytes | None]]", reply) or [[]] * len(page)
            known += map(codec.entry_of, page, found)
        return known

    async def counts(self, shard: Shard) -> Counts:
        sights = await look(self.servers.of(shard), self.servers, [shard])
        return sights[0].counts

    async def survey(self, shards: Sequence[Shard]) -> list[Sight | None]:
        return await survey(self.servers, shards)

    async def drop(self, shard: Shard) -> None:
        await self._run(_DROP, shard, keys.vesting_name(shard))

    async def vesting(self, limit: int) -> list[Shard]:
        each = max(1, limit // self.servers.count)
        names = await self.servers.run_everywhere(_VESTING, each, VESTING_LEASE_MS)
        return [keys.shard_of(name) for found in names for name in cast("list[bytes]", found)]

    async def next_vesting_ms(self) -> int | None:
        times = await self.servers.run_everywhere(_NEXT_VESTING, LOOKS_MAX)
        return min((int(cast(bytes, time)) for time in times if time), default=None)

    def _entry_words(self, shard: Shard, entries: Iterable[Entry]) -> list[bytes]:
        server = self.servers.of(shard)
        words: list[bytes] = []
        for entry in entries:
            content = b"" if entry.message is None else codec.content_word(entry.message)
            if content and not server.has_room(len(content)):
                content = b""
            words += codec.entry_words(entry, is_fifo=shard.is_fifo, content=content)
        return words


def _pages(items: Sequence[T], size: int = ENTRIES_MAX) -> list[Sequence[T]]:
    """Splits into at least one page, which may be empty."""
    return [items[start : start + size] for start in range(0, len(items) or 1, size)]
