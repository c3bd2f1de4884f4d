"""A cache under test with one open shard, in words short enough for tests to read as sentences.

    await bench.put(1, 2, 3)
    taken = await bench.take(2)                  # Taken
    assert of(taken) == [1, 2]
    await bench.advance(30_000)
    await bench.reveal()

A message is its number: address and sequence. On a FIFO shard each is a group of its own unless a test says otherwise.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from cqs.cache.counts import Counts
from cqs.cache.entry import Entry, State
from cqs.cache.interface import Outcome, QueueCache, Received, Revealed, Shard, Taken, TakeRequest, Ticket

VISIBILITY_MS = 30_000
RETENTION_MS = 345_600_000
LIMIT = 1_000


def of(messages: Taken | Sequence[Received] | Sequence[Entry]) -> list[int]:
    """Returns the numbers of the messages, in order."""
    return [one.address for one in (messages.received if isinstance(messages, Taken) else messages)]


def tickets(messages: Taken | Sequence[Received]) -> list[Ticket]:
    return [one.ticket for one in (messages.received if isinstance(messages, Taken) else messages)]


@dataclass(slots=True)
class CacheBench:
    """The cache, its time, and the shard that the short calls are about."""

    cache: QueueCache
    shard: Shard
    now_ms: Callable[[], int]
    advance: Callable[[int], Awaitable[None]]
    tolerance_ms: int = 0
    retention_ms: int = RETENTION_MS

    def is_near(self, actual_ms: int | None, expected_ms: int) -> bool:
        """Whether a time is right, within the backend's tolerance."""
        return actual_ms is not None and abs(actual_ms - expected_ms) <= self.tolerance_ms

    def entry(self, number: int, *, group: str | None = None, delay_ms: int = 0, age_ms: int = 0) -> Entry:
        if group is None and self.shard.is_fifo:
            group = f"group-{number}"
        now_ms = self.now_ms()
        return Entry(
            address=number,
            sent_ms=now_ms - age_ms,
            group=group,
            sequence=number if self.shard.is_fifo else 0,
            visible_ms=now_ms + delay_ms if delay_ms else 0,
        )

    def leased(self, number: int, *, for_ms: int, receives: int = 1, receive_number: int, group: str = "") -> Entry:
        """An entry as a fill adds it, with its last lease."""
        entry = self.entry(number, group=group or None)
        entry.state, entry.visible_ms = State.IN_FLIGHT, self.now_ms() + for_ms
        entry.receive_count, entry.first_receive_ms, entry.receive_number = receives, self.now_ms(), receive_number
        return entry

    async def open(self, *entries: Entry) -> None:
        """Fills the shard with these messages: absent → ready."""
        epoch = await self.cache.begin_fill(self.shard, self.retention_ms)
        assert epoch is not None
        assert await self.cache.fill(self.shard, epoch, list(entries), is_last=True)

    async def put(self, *numbers: int, group: str | None = None, delay_ms: int = 0, age_ms: int = 0) -> None:
        entries = [self.entry(number, group=group, delay_ms=delay_ms, age_ms=age_ms) for number in numbers]
        await self.cache.put(self.shard, entries)

    async def take(
        self,
        count_max: int = 10,
        *,
        visibility_ms: int = VISIBILITY_MS,
        receive_count_max: int = 0,
        in_flight_max: int = 120_000,
        request_id: str = "",
        replay_ms: int = 10_000,
    ) -> Taken:
        request = TakeRequest(
            count_max=count_max,
            visibility_ms=visibility_ms,
            retention_ms=self.retention_ms,
            receive_count_max=receive_count_max,
            in_flight_max=in_flight_max,
            request_id=request_id,
            replay_ms=replay_ms,
        )
        return await self.cache.take(self.shard, request)

    async def take_one(self, *, visibility_ms: int = VISIBILITY_MS) -> Received:
        """Takes one message, which must be there, and returns it."""
        (received,) = (await self.take(1, visibility_ms=visibility_ms)).received
        return received

    async def hide(self, received: Received, for_ms: int) -> Outcome:
        return await self.cache.hide(self.shard, received.ticket, self.now_ms() + for_ms)

    async def fence(self, *received: Received, hold_ms: int = 1_000) -> list[Outcome]:
        return await self.cache.fence(self.shard, [one.ticket for one in received], hold_ms)

    async def remove(self, *numbers: int) -> int:
        return await self.cache.remove(self.shard, numbers)

    async def reveal(self, limit: int = LIMIT) -> Revealed:
        return await self.cache.reveal(self.shard, self.retention_ms, limit)

    async def run_out(self, for_ms: int = VISIBILITY_MS) -> None:
        """Advances the time and reveals the messages that are due."""
        await self.advance(for_ms + self.tolerance_ms)
        await self.reveal()

    async def peek(self, state: State, *, after: int | None = None, limit: int = LIMIT) -> list[int]:
        return of((await self.cache.peek(self.shard, state, after, limit)).entries)

    async def counts(self) -> Counts:
        return await self.cache.counts(self.shard)

    async def numbers(self) -> tuple[int, int, int]:
        """Returns how many messages are ready, in flight and delayed."""
        counts = await self.counts()
        return counts.ready, counts.in_flight, counts.delayed

    async def sibling(self, storage_id: int) -> CacheBench:
        """Opens another, empty shard of the same kind in the same cache."""
        shard = Shard(storage_id, self.shard.is_fifo)
        bench = CacheBench(self.cache, shard, self.now_ms, self.advance, self.tolerance_ms, self.retention_ms)
        await bench.open()
        return bench
