"""The claims requested in a FIFO queue, and the conditional batch that would grant them. Pure: state in, batch out."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from enum import Enum

from cqs.queue import Queue
from cqs.store.cassandra import claim_rows
from cqs.store.cassandra.claim_rows import Found, Id, Take
from cqs.store.cassandra.session import Write
from cqs.store.claims import SEQUENCE_MS_SHIFT
from cqs.store.interface import Claim, Wanted


class Refused(Enum):
    """Why a call got nothing."""

    BY_THIS_PROCESS = 1
    BY_ANOTHER_NODE = 2


class Call:
    """The claims one caller requests."""

    __slots__ = ("answer", "queue", "wanted", "window_ms")

    def __init__(self, queue: Queue, wanted: Sequence[Wanted], window_ms: int) -> None:
        self.queue = queue
        self.wanted = wanted
        self.window_ms = window_ms
        self.answer: asyncio.Future[list[Claim] | Refused]


class Plan:
    """The conditional batch that would grant the requests of all calls, and their answers if it is applied."""

    def __init__(
        self,
        queue: Queue,
        taken: dict[Id, Found],
        confirmed: set[int],
        old: dict[Id, Found],
        now_ms: int,
        last: int | None,
    ) -> None:
        self.writes: list[Write] = []
        self.takes: dict[Id, Take] = {}
        self.answers: dict[int, list[Claim]] = {}
        self.sequence = last or 0
        self._queue = queue
        self._taken = taken
        self._confirmed = confirmed
        self._old = old
        self._now_ms = now_ms

    def add(self, call: Call) -> None:
        """Skips a call that wants an id that another call of the batch takes."""
        for wish in call.wanted:
            if wish.dedup_id and (wish.scope, wish.dedup_id) in self.takes:
                return
        self.answers[id(call)] = [self._claim(call, wish) for wish in call.wanted]

    def _claim(self, call: Call, wish: Wanted) -> Claim:
        key = (wish.scope, wish.dedup_id)
        if not wish.dedup_id:
            return Claim(wish.address, self._next(), True)
        known = self._taken.get(key)
        if known is not None:
            is_new = known.address == wish.address and known.address not in self._confirmed
            return Claim(known.address, known.sequence, is_new)
        mine = self.takes.get(key)
        if mine is not None:
            return Claim(mine.wish.address, mine.sequence, mine.wish.address == wish.address)
        one = Take(wish, self._next(), self._now_ms + call.window_ms, self._old.get(key))
        self.takes[key] = one
        self.writes.append(claim_rows.take(self._queue, one, self._now_ms))
        return Claim(wish.address, one.sequence, True)

    def _next(self) -> int:
        self.sequence = max(self.sequence + 1, self._now_ms << SEQUENCE_MS_SHIFT)
        return self.sequence
