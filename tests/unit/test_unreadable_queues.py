"""A queue whose record in the store can't be read, being damaged or of another version, stops no node."""

from __future__ import annotations

import pytest

from cqs.queue import Queue
from cqs.service import heartbeat, news, queues
from cqs.service.leadership import LEASE_MS
from cqs.store.interface import Unreadable
from tests.cluster import two_nodes


async def test_news_of_it_stops_neither_other_news_nor_the_rest_of_the_beat() -> None:
    town, a, b, queue = await two_nodes()
    other = await a.create("other")
    await queues.change_settings(a.engine, queue, {"visibility_ms": 5_000})
    town.store.fail("find", Unreadable("The definition of Queue can't be read."), after=1)

    await heartbeat.step(b.engine)

    assert b.engine.registry.find(other.key) == other
    assert b.engine.registry.find(queue.key) == queue
    assert not b.engine.cluster.unheard


async def test_a_node_that_hears_of_it_goes_on_to_lead() -> None:
    town, a, b, queue = await two_nodes()
    town.store.fail("find", Unreadable("The definition of Queue can't be read."), times=1_000)
    await news.tell_doubt(a.engine, queue)

    for _ in range(3):
        town.clock.advance_ms(LEASE_MS)
        await heartbeat.step(b.engine)

    assert b.engine.cluster.leadership.is_held


@pytest.mark.parametrize("is_gone", [False, True])
async def test_a_node_that_was_away_keeps_what_it_knows_of_it_and_forgets_what_is_gone(
    monkeypatch: pytest.MonkeyPatch, is_gone: bool
) -> None:
    town, _, b, queue = await two_nodes()
    if is_gone:
        await town.store.drop(queue, town.clock.now_ms())
    else:
        town.store.fail("find", Unreadable("The definition of Queue can't be read."))
    monkeypatch.setattr(town.store, "queues", _none)

    await news.reload(b.engine)

    assert b.engine.registry.get(queue.key) == (None if is_gone else queue)


async def _none() -> list[Queue]:
    return []
