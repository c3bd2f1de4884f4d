"""Errors that nobody foresaw, in tasks that work for many callers: those who wait are told, and the next are served."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import pytest

from cqs.store.cassandra import statements
from cqs.store.cassandra.claim_plan import Call
from cqs.store.cassandra.claimer import Claimer
from cqs.store.cassandra.messages import Messages
from cqs.store.cassandra.partitions import Partitions
from cqs.store.cassandra.session import Decision, Session, Write
from cqs.store.interface import Wanted
from cqs.testing.clock import ManualClock
from tests.contract.store_home import Maker


class Breaking:
    """Stands for the session: the first call meets a bug, the others are carried out."""

    def __init__(self) -> None:
        self._is_broken = True

    async def write(self, writes: Sequence[Write]) -> None:
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
    claimer = Claimer(cast(Session, Breaking()), cast(Messages, None), clock, 1_000)

    with pytest.raises(TypeError):
        await claimer.claim(Call(queue, [Wanted("", "a", make.address())], 1_000))
    claims = await claimer.claim(Call(queue, [Wanted("", "a", make.address())], 1_000))

    assert isinstance(claims, list)
    assert claims[0].is_new
