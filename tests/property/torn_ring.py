"""Three replicas that have parts of a message, for takeovers: writes reach them one by one, reads ask two of them."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Sequence
from typing import cast

from cqs.errors import OutcomeUnknown
from cqs.store.cassandra import statements as cql
from cqs.store.cassandra.session import Decision, Write
from cqs.store.cassandra.statements import Statement

STEPS_MAX = 6
LOST_SHARE = 0.1
MESSAGE, CONFIRMATION = "message", "confirmation"
_Cell = tuple[str, int]
_Row = tuple[str, str, int, int, int, int, int]


class TornRing:
    """Stands in for `Messages` and for the session. Every step takes its turn at random; answers of conditional writes
    may be lost. Conditional writes themselves are decided one by one, as Paxos does."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._replicas: list[dict[_Cell, tuple[int, bool]]] = [{}, {}, {}]
        self._claims: dict[tuple[object, ...], _Row] = {}
        self._late: list[asyncio.Task[None]] = []

    async def step(self) -> None:
        for _ in range(self._rng.randrange(STEPS_MAX)):
            await asyncio.sleep(0)

    async def append_in_part(self, address: int) -> None:
        """One replica has the message and its confirmation; by a late hint, a second one may."""
        cells = {(kind, address): (0, True) for kind in (MESSAGE, CONFIRMATION)}
        for replica in self._rng.sample(self._replicas, self._rng.choice([1, 1, 2])):
            await self.step()
            _merge(replica, cells)

    async def rest(self) -> None:
        """All writes have arrived where they will."""
        await asyncio.gather(*self._late)

    def is_anywhere(self, address: int) -> bool:
        """Whether a quorum may find the message or its confirmation."""
        pairs = [(one, two) for one in self._replicas for two in self._replicas if one is not two]
        return any(_newest(pair, (kind, address))[1] for pair in pairs for kind in (MESSAGE, CONFIRMATION))

    async def existing(self, _: int, addresses: Sequence[int]) -> set[int]:
        return await self._read(MESSAGE, addresses)

    async def confirmed(self, _: int, addresses: Sequence[int]) -> set[int]:
        return await self._read(CONFIRMATION, addresses)

    async def confirm(self, _: int, addresses: Sequence[int], __: int) -> None:
        await self._write({(CONFIRMATION, address): (0, True) for address in addresses})

    async def delete(self, _: int, addresses: Sequence[int], *, is_unsaid: bool) -> None:
        assert is_unsaid
        await self._write({(kind, address): (1, False) for address in addresses for kind in (MESSAGE, CONFIRMATION)})

    async def _write(self, cells: dict[_Cell, tuple[int, bool]]) -> None:
        one, two, three = self._rng.sample(self._replicas, 3)
        for replica in (one, two):
            await self.step()
            _merge(replica, cells)
        if self._rng.random() < 0.5:
            self._late.append(asyncio.ensure_future(self._arrive_late(three, cells)))

    async def _arrive_late(self, replica: dict[_Cell, tuple[int, bool]], cells: dict[_Cell, tuple[int, bool]]) -> None:
        await self.step()
        await self.step()
        _merge(replica, cells)

    async def _read(self, kind: str, addresses: Sequence[int]) -> set[int]:
        """What differs is repaired on both replicas before the answer, as Cassandra does."""
        asked, seen = self._rng.sample(self._replicas, 2), dict[_Cell, tuple[int, bool]]()
        for replica in asked:
            await self.step()
            _merge(seen, {cell: replica[cell] for address in addresses if (cell := (kind, address)) in replica})
        for replica in asked:
            await self.step()
            _merge(replica, seen)
        return {address for address in addresses if seen.get((kind, address), (0, False))[1]}

    async def read(self, statement: Statement, values: Sequence[object]) -> list[_Row]:
        assert statement is cql.READ_CLAIMS
        await self.step()
        keys = cast(list[tuple[str, str]], values[2])
        return [row for key in keys if (row := self._claims.get((*values[:2], *key))) is not None]

    async def pages(self, statement: Statement, values: Sequence[object]) -> AsyncIterator[list[tuple[str]]]:
        assert statement is cql.CLAIMS_IN_SCOPE
        await self.step()
        yield [(cast(str, key[3]),) for key in self._claims if key[:3] == tuple(values)]

    async def decide(self, writes: Sequence[Write]) -> Decision:
        await self.step()
        is_lost, is_done = self._rng.random() < LOST_SHARE, self._rng.random() < 0.5
        if is_lost and not is_done:
            raise OutcomeUnknown("made up: not done")
        (write,) = writes
        is_applied = self._apply(write)
        await self.step()
        if is_lost:
            raise OutcomeUnknown("made up: done")
        return Decision(is_applied, [])

    def _apply(self, write: Write) -> bool:
        values = cast(Sequence[int], write.values)
        if write.statement is cql.TAKE_CLAIM:
            key, row, old = tuple(values[:4]), values[4:9], None
        elif write.statement is cql.TAKE_OVER_CLAIM:
            key, row, old = tuple(values[6:10]), values[1:6], tuple(values[10:])
        else:
            assert write.statement is cql.GIVE_UP_CLAIM
            key, row, old = tuple(values[:4]), (), tuple(values[4:])
        there = self._claims.get(key)
        if (None if there is None else there[2:4]) != old:
            return False
        if row:
            self._claims[key] = cast(_Row, (*key[2:], *row))
        else:
            del self._claims[key]
        return True


def _merge(into: dict[_Cell, tuple[int, bool]], cells: dict[_Cell, tuple[int, bool]]) -> None:
    for cell, value in cells.items():
        if cell not in into or into[cell][0] < value[0]:
            into[cell] = value


def _newest(replicas: Sequence[dict[_Cell, tuple[int, bool]]], cell: _Cell) -> tuple[int, bool]:
    return max(replica.get(cell, (-1, False)) for replica in replicas)
