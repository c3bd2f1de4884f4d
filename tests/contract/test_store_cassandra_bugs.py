"""Unexpected errors in tasks that work for many callers: waiting callers get the error, later ones are served. Also
cancellation in the middle of work, and contention."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import cast

import pytest

from cqs.errors import StoreUnavailable
from cqs.store.cassandra import claimer as claimer_module
from cqs.store.cassandra import lease_keeper, statements
from cqs.store.cassandra.claim_plan import Call
from cqs.store.cassandra.claimer import Claimer
from cqs.store.cassandra.lease_keeper import LeaseKeeper
from cqs.store.cassandra.partitions import Partitions
from cqs.store.cassandra.session import Decision, Session, Write
from cqs.store.cassandra.takeovers import Takeovers
from cqs.store.interface import Lease, Wanted
from cqs.testing.clock import ManualClock
from tests.contract.store_home import Maker, lease_of


class Breaking:
    """Replaces the session: the first call raises an unexpected error, the others are executed."""

    def __init__(self) -> None:
        self._is_broken = True

    async def write(self, writes: Sequence[Write], since_s: float = 0.0) -> None:
        if self._is_broken:
            self._is_broken = False
            raise TypeError("a bug")

    async def decide(self, writes: Sequence[Write]) -> Decision:
        await self.write(writes)
        return Decision(True, [])


async def test_a_write_that_meets_a_bug_leaves_nobody_waiting() -> None:
    partitions = Partitions(Breaking().write)
    writes = [Write(statements.INSERT_LATE, (1,))]

    with pytest.raises(TypeError):
        await partitions.write("a", writes)
    await partitions.write("a", writes)
    await partitions.rest()


async def test_a_claim_that_meets_a_bug_leaves_nobody_waiting() -> None:
    clock = ManualClock()
    make = Maker(clock, 1)
    queue = make.queue("orders.fifo")
    claimer = Claimer(cast(Session, Breaking()), cast(Takeovers, None), clock)

    with pytest.raises(TypeError):
        await claimer.claim(Call(queue, [Wanted("", "a", make.address())], 1_000))
    claims = await claimer.claim(Call(queue, [Wanted("", "a", make.address())], 1_000))

    assert isinstance(claims, list)
    assert claims[0].is_new


class Crowded:
    """Loses that many compare-and-set attempts on a sequence to another node."""

    def __init__(self, refusals: int) -> None:
        self._left = refusals

    async def decide(self, writes: Sequence[Write]) -> Decision:
        await asyncio.sleep(0)
        self._left -= 1
        return Decision(True, []) if self._left < 0 else Decision(False, [{"last_sequence": -self._left}])


async def test_a_claim_that_others_are_faster_than_a_hundred_times_is_tried_once_more() -> None:
    clock = ManualClock()
    make = Maker(clock, 1)
    claimer = Claimer(cast(Session, Crowded(100)), cast(Takeovers, None), clock)

    claims = await claimer.claim(Call(make.queue("orders.fifo"), [Wanted("", "a", make.address())], 1_000))

    assert isinstance(claims, list)
    assert claims[0].is_new


async def test_a_claim_that_others_are_always_faster_than_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claimer_module, "ROUND_S_MAX", 0.0)
    clock = ManualClock()
    make = Maker(clock, 1)
    claimer = Claimer(cast(Session, Crowded(1_000_000)), cast(Takeovers, None), clock)

    with pytest.raises(StoreUnavailable, match="Too many nodes"):
        await claimer.claim(Call(make.queue("orders.fifo"), [Wanted("", "a", make.address())], 1_000))


async def test_leases_that_are_being_written_down_when_the_store_closes_are_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(lease_keeper, "LOOK_S", 0)
    clock, make, written = ManualClock(), Maker(ManualClock(), 1), list[Lease]()
    asked, goes_on = asyncio.Event(), asyncio.Event()

    async def existing(_: int, addresses: Sequence[int]) -> set[int]:
        asked.set()
        await goes_on.wait()
        return set(addresses)

    async def write(_: int, leases: Sequence[Lease]) -> None:
        written.extend(leases)

    keeper = LeaseKeeper(clock, existing, write)
    lease = lease_of(make.message(), until_ms=clock.now_ms() + 1)
    keeper.hold(1, [lease])
    clock.advance_ms(120_000)
    running = asyncio.create_task(keeper.run())
    await asked.wait()

    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    goes_on.set()
    await keeper.settle(is_end=True)

    assert written == [lease]
