"""Dirty marks that their node does not know of, because writing or removing them got no response."""

from __future__ import annotations

import pytest

from cqs.errors import CqsError, OutcomeUnknown, StoreUnavailable
from cqs.queue import Queue
from cqs.service import marking, repair
from cqs.service.engine import shard_of
from cqs.store.coordination import DirtyMark
from tests.cluster import Cut, Town, two_nodes, waits_for_marks
from tests.engine import Bench


async def send_in_an_outage(town: Town, a: Bench, queue: Queue) -> None:
    """Makes one send while the node can't reach the cache."""
    cut = Cut(town, "a")
    cut.cut(is_known=False)
    await a.send(queue, "one")
    cut.mend()


async def settle(town: Town, a: Bench) -> None:
    for _ in range(round(2 * marking.LINGER_S)):
        town.clock.advance_ms(1_000)
        await repair.step(a.engine)
        try:
            await town.beat()
        except CqsError:
            continue


async def test_a_mark_whose_writing_had_no_answer_is_removed_when_nothing_needs_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    town, a, b, queue = await two_nodes()
    coordination = a.engine.cluster.coordination
    mark_dirty = coordination.mark_dirty

    async def unanswered(mark: DirtyMark, datacenter: str = "") -> None:
        await mark_dirty(mark, datacenter)
        raise OutcomeUnknown("by the test")

    with monkeypatch.context() as patched:
        patched.setattr(coordination, "mark_dirty", unanswered)
        await send_in_an_outage(town, a, queue)
    town.clock.advance_ms(1)
    await settle(town, a)

    assert await coordination.dirty_marks() == []
    assert not b.engine.marks.is_on(shard_of(queue))
    assert await b.bodies(queue) == ["one"]


async def test_a_mark_whose_removal_failed_is_removed_at_a_later_beat(monkeypatch: pytest.MonkeyPatch) -> None:
    waits_for_marks(monkeypatch)
    town, a, b, queue = await two_nodes("orders.fifo")
    coordination = a.engine.cluster.coordination

    async def fails(_: DirtyMark) -> None:
        raise StoreUnavailable("by the test")

    await send_in_an_outage(town, a, queue)
    with monkeypatch.context() as patched:
        patched.setattr(coordination, "repaired", fails)
        await settle(town, a)
    assert len(await coordination.dirty_marks()) == 1
    await settle(town, a)

    assert await coordination.dirty_marks() == []
    assert await b.bodies(queue) == ["one"]
