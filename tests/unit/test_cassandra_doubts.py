"""A FIFO message whose append had no answer, and that was found and acknowledged: it stays, however late its claim is
settled. Its confirmation ends by its time to live, some minutes after the window of its deduplication id."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import cast

import pytest

from cqs.queue import Queue
from cqs.store.cassandra.claim_plan import Call
from cqs.store.cassandra.claimer import Claimer
from cqs.store.cassandra.claims import Claims
from cqs.store.cassandra.messages import Messages
from cqs.store.cassandra.session import Decision, Session, Write
from cqs.store.cassandra.takeovers import CONFIRMED_MARGIN_MS, Takeovers
from cqs.store.interface import Claim, Wanted
from cqs.testing.clock import ManualClock
from tests.contract.store_home import WINDOW_MS, Maker
from tests.property.torn_ring import TornRing


class Ring(TornRing):
    """The time to live of all confirmations is over."""

    def __init__(self) -> None:
        super().__init__(random.Random(1))
        self.fenced: list[int] = []

    async def confirmed(self, _: int, addresses: Sequence[int]) -> set[int]:
        return set()

    async def delete(self, _: int, addresses: Sequence[int], *, is_unsaid: bool) -> None:
        self.fenced += addresses

    async def decide(self, writes: Sequence[Write]) -> Decision:
        (write,) = writes
        return Decision(self._apply(write), [])


class Granting:
    """Stands in for the claimer: every id is free."""

    async def claim(self, call: Call) -> list[Claim]:
        return [Claim(wish.address, 1, True) for wish in call.wanted]


class World:
    """Claims of one process, with the doubtful one of an acknowledged message."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.ring = Ring()
        takeovers = Takeovers(cast(Session, self.ring), cast(Messages, self.ring), self.clock)
        self.claims = Claims(cast(Session, self.ring), takeovers, self.clock)
        self.claims._claimer = cast(Claimer, Granting())
        self.make = Maker(self.clock)
        self.queue: Queue = self.make.fifo()

    async def claim(self) -> Claim:
        (claim,) = await self.claims.claim(self.queue, [self.make.wanted("d")], WINDOW_MS)
        return claim

    async def acknowledge_in_doubt(self) -> int:
        address = (await self.claim()).address
        self.claims.begin_append([address])
        self.claims.doubt([address])
        return address


@pytest.fixture
def world() -> World:
    return World()


async def test_a_message_acknowledged_in_doubt_is_kept_when_its_node_stops_later(world: World) -> None:
    await world.acknowledge_in_doubt()
    world.clock.advance_ms(WINDOW_MS + CONFIRMED_MARGIN_MS)

    await world.claims.close()

    assert world.ring.fenced == []


async def test_a_message_acknowledged_in_doubt_is_kept_when_its_deduplication_id_is_used_again_later(
    world: World,
) -> None:
    old = await world.acknowledge_in_doubt()
    world.clock.advance_ms(WINDOW_MS + CONFIRMED_MARGIN_MS)

    claim = await world.claim()

    assert claim.is_new
    assert claim.address != old
    assert world.ring.fenced == []


async def test_a_message_in_doubt_whose_window_is_not_over_is_decided_about(world: World) -> None:
    address = await world.acknowledge_in_doubt()

    await world.claims.release([address])

    assert world.ring.fenced == [address]


async def test_doubts_do_not_add_up(world: World) -> None:
    for number in range(5):
        wish = Wanted("", f"{number}", world.make.address())
        await world.claims.claim(world.queue, [wish], WINDOW_MS)
        world.claims.doubt([wish.address])
    world.clock.advance_ms(WINDOW_MS)

    await world.claim()

    assert len(world.claims) == 1
