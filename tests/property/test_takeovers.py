"""Readers and takers of one message that only some replicas have, in random order, with crashes, lost answers and
clocks that jump: it is never both handed out and fenced off, and never both the answer to a repeat and fenced off."""

from __future__ import annotations

import asyncio
import contextlib
import random
from typing import cast

import pytest

from cqs.errors import CqsError
from cqs.queue import Queue
from cqs.store.cassandra.claim_rows import Found
from cqs.store.cassandra.messages import Messages
from cqs.store.cassandra.session import Session
from cqs.store.cassandra.takeovers import PENDING_MS, Ruling, Takeovers
from cqs.testing.clock import ManualClock
from tests.contract.store_home import Maker
from tests.property.torn_ring import TornRing

RUNS = 1_500
LOOKS, TRIES = 8, 40


class Run:
    """One history. `rulings`: of all takers."""

    def __init__(self, seed: int) -> None:
        self._rng = random.Random(seed)
        self._clock = ManualClock()
        self.ring = TornRing(self._rng)
        make = Maker(self._clock, seed)
        self._queue = make.fifo()
        self.address = make.address()
        self._takers = [make.address(), make.address()]
        self.is_handed_out = False
        self.rulings: list[Ruling] = []

    async def play(self) -> None:
        appending = asyncio.ensure_future(self._append())
        actors = [self._read(), self._read(), *[self._take(taker) for taker in self._takers]]
        tasks = [asyncio.ensure_future(actor) for actor in actors]
        for task in self._rng.sample(tasks, self._rng.choice([0, 0, 1, 2])):
            await self.ring.step()
            task.cancel()
        await asyncio.gather(*tasks, appending, return_exceptions=True)
        await self.ring.rest()

    def _node(self) -> Takeovers:
        return Takeovers(cast(Session, self.ring), cast(Messages, self.ring), self._clock)

    async def _append(self) -> None:
        await self._wait()
        await self.ring.append_in_part(self.address)

    async def _wait(self) -> None:
        for _ in range(self._rng.choice([0, 1, 2, 4, 8])):
            await self.ring.step()

    async def _read(self) -> None:
        node = self._node()
        for _ in range(LOOKS):
            await self.ring.step()
            with contextlib.suppress(CqsError):
                found = await self.ring.existing(0, [self.address])
                if found and await node.certain(self._queue, [self.address]):
                    self.is_handed_out = True

    async def _take(self, by: int) -> None:
        node = self._node()
        await self._wait()
        for _ in range(TRIES):
            await self.ring.step()
            with contextlib.suppress(CqsError):
                ruling = await node.rule(self._queue, self.address, by)
                if ruling is not Ruling.UNDECIDED:
                    self.rulings.append(ruling)
                    return
            self._clock.advance_ms(self._rng.choice([0, 0, PENDING_MS]))

    @property
    def is_wrong(self) -> bool:
        if Ruling.FENCED not in self.rulings:
            return False
        return self.is_handed_out or Ruling.STORED in self.rulings or self.ring.is_anywhere(self.address)


async def played(runs: int) -> list[Run]:
    done = [Run(seed) for seed in range(runs)]
    for run in done:
        await run.play()
    return done


async def test_nothing_is_both_accepted_and_fenced_off() -> None:
    runs = await played(RUNS)

    assert [seed for seed, run in enumerate(runs) if run.is_wrong] == []
    assert sum(run.is_handed_out for run in runs) > RUNS / 20
    for ruling in (Ruling.STORED, Ruling.FENCED):
        assert sum(ruling in run.rulings for run in runs) > RUNS / 20


async def test_these_runs_find_takers_without_notices(monkeypatch: pytest.MonkeyPatch) -> None:
    async def unsaid(*_: object) -> bool:
        return True

    monkeypatch.setattr(Takeovers, "_write", unsaid)

    assert any(run.is_wrong for run in await played(RUNS))


async def test_these_runs_find_readers_that_do_not_confirm(monkeypatch: pytest.MonkeyPatch) -> None:
    async def nothing(*_: object) -> None:
        pass

    monkeypatch.setattr(TornRing, "confirm", nothing)

    assert any(run.is_wrong for run in await played(RUNS))


async def test_these_runs_find_readers_that_do_not_look_for_notices(monkeypatch: pytest.MonkeyPatch) -> None:
    async def kept(_: Takeovers, __: Queue, ___: int) -> bool:
        return True

    monkeypatch.setattr(Takeovers, "_keep", kept)

    assert any(run.is_wrong for run in await played(RUNS))


async def test_these_runs_find_takers_whose_notice_is_never_final(monkeypatch: pytest.MonkeyPatch) -> None:
    write = Takeovers._write

    async def never_final(self: Takeovers, queue: Queue, address: int, by: int, old: Found | None) -> bool:
        return by == 0 or await write(self, queue, address, by, old)

    monkeypatch.setattr(Takeovers, "_write", never_final)

    assert any(run.is_wrong for run in await played(RUNS))
