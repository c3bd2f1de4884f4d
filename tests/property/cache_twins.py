"""Two caches that get the same calls and must return the same results.

Their receive numbers start at different values, so tickets are kept relative to the first one of each.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import TypeVar

from msgspec.structs import replace

from cqs.cache.entry import Entry, State
from cqs.cache.interface import QueueCache, Received, Shard, Taken, Ticket

T = TypeVar("T")


class Twins:
    """`call` calls both and returns their common result; `tell` passes each its own tickets."""

    def __init__(self, loop: asyncio.AbstractEventLoop, one: QueueCache, two: QueueCache, shard: Shard) -> None:
        self._loop = loop
        self.caches = (one, two)
        self._bases: tuple[int, int] | None = None
        self.shard = shard

    def ask(self, call: Callable[[QueueCache], Coroutine[object, object, T]]) -> tuple[T, T]:
        """Returns the result of each cache."""
        one, two = self.caches
        return self._loop.run_until_complete(call(one)), self._loop.run_until_complete(call(two))

    def call(self, call: Callable[[QueueCache], Coroutine[object, object, T]]) -> T:
        one, two = self.ask(call)
        assert one == two
        return one

    def tell(self, call: Callable[[QueueCache, list[Ticket]], Coroutine[object, object, T]], *tickets: Ticket) -> T:
        """Like `call`, for these (relative) tickets."""
        answers = [
            self._loop.run_until_complete(call(cache, [self._absolute(ticket, base) for ticket in tickets]))
            for cache, base in zip(self.caches, self._bases or (0, 0), strict=True)
        ]
        assert answers[0] == answers[1]
        return answers[0]

    def take(self, call: Callable[[QueueCache], Coroutine[object, object, Taken]]) -> list[Received]:
        """Takes messages and returns all of them, dead letters last, with relative numbers."""
        one, two = self.ask(call)
        self._find_bases(one, two)
        answers = [self._relative(taken, base) for taken, base in zip((one, two), self._bases or (0, 0), strict=True)]
        assert answers[0] == answers[1]
        assert (one.expired, one.residency, one.is_over_limit) == (two.expired, two.residency, two.is_over_limit)
        return answers[0]

    def known(self, addresses: list[int]) -> list[tuple[object, ...] | None]:
        """Returns everything the caches know about each message."""
        one, two = self.ask(lambda cache: cache.lookup(self.shard, addresses))
        bases = self._bases or (0, 0)
        facts = [[_facts(entry, base) for entry in entries] for entries, base in zip((one, two), bases, strict=True)]
        assert facts[0] == facts[1]
        return facts[0]

    def page(self, state: State, after: int | None, limit: int) -> list[int]:
        one, two = self.ask(lambda cache: cache.peek(self.shard, state, after, limit))
        assert [entry.address for entry in one.entries] == [entry.address for entry in two.entries]
        assert one.after == two.after
        return [entry.address for entry in one.entries]

    def browse(self, state: State, limit: int) -> None:
        """Checks that both show the same messages on each page, each once, in any order."""
        one, two = self.ask(lambda cache: _browsed(cache, self.shard, state, limit))
        assert sorted(one) == sorted(two)
        assert len(set(one)) == len(one)

    def _find_bases(self, one: Taken, two: Taken) -> None:
        numbers = [[received.receive_number for received in (*taken.received, *taken.dead)] for taken in (one, two)]
        if self._bases is None and all(numbers):
            self._bases = min(numbers[0]) - 1, min(numbers[1]) - 1

    @staticmethod
    def _relative(taken: Taken, base: int) -> list[Received]:
        handed = [*taken.received, *taken.dead]
        return [replace(received, receive_number=received.receive_number - base) for received in handed]

    @staticmethod
    def _absolute(ticket: Ticket, base: int) -> Ticket:
        return Ticket(ticket.address, ticket.receive_number + base)


async def _browsed(cache: QueueCache, shard: Shard, state: State, limit: int) -> list[int]:
    page = await cache.browse(shard, state, None, limit)
    found = [entry.address for entry in page.entries]
    while page.after is not None:
        page = await cache.browse(shard, state, page.after, limit)
        found += [entry.address for entry in page.entries]
    return found


def _facts(entry: Entry | None, base: int) -> tuple[object, ...] | None:
    if entry is None:
        return None
    return (
        entry.address,
        entry.sent_ms,
        entry.group,
        entry.sequence,
        entry.visible_ms,
        entry.receive_count,
        entry.first_receive_ms,
        entry.receive_number and entry.receive_number - base,
        entry.state,
    )
