"""A node that alone has lost the cache server tells another node what to update there, and that telling is lost."""

from __future__ import annotations

import pytest

from cqs.errors import OutcomeUnknown, StoreUnavailable
from cqs.queue import Queue
from cqs.service.membership import LIFE_MS
from cqs.service.send import Draft, send
from cqs.service.telling import TELL
from cqs.store.coordination import News
from tests.cluster import PLACE, Cut, Town, waits_for_marks
from tests.engine import Bench


@pytest.fixture(autouse=True)
def waited(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Records the waits of senders, in ms; nobody really waits."""
    return waits_for_marks(monkeypatch)


async def cut_off_with_a_message() -> tuple[Town, Bench, Bench, Bench, Queue]:
    """Nodes a, b and c; a stored a message and then learned that it alone can't reach the cache. b tends the cache."""
    town = Town()
    a, b, c = [await town.node(name) for name in "abc"]
    queue = await a.create("orders.fifo")
    await town.beat()
    Cut(town, "a").cut(is_known=False)
    await send(a.engine, queue, Draft("7", group="g", dedup_id="7"), "sender")
    town.lost["a"].append(PLACE)
    await town.beat("b", "c")
    return town, a, b, c, queue


async def pass_lives(town: Town) -> None:
    """Nodes that no longer beat are known to be dead, and what was told before that is told again."""
    for _ in range(5):
        town.clock.advance_ms(LIFE_MS // 2)
        await town.beat()
    await town.beat()


async def test_news_that_had_no_answer_is_told_again() -> None:
    town, a, b, _, queue = await cut_off_with_a_message()
    coordination = a.engine.cluster.coordination
    announce = coordination.announce

    async def lost(news: News) -> None:
        assert news.kind == TELL
        raise OutcomeUnknown("lost")

    coordination.announce = lost  # type: ignore[method-assign]
    with pytest.raises(OutcomeUnknown):
        await town.beat("a")
    coordination.announce = announce  # type: ignore[method-assign]
    await pass_lives(town)

    assert await b.bodies(queue) == ["7"]
    assert town.shared.marks == {}


async def test_news_for_a_node_that_dies_is_told_to_the_next_one() -> None:
    town, _, _, c, queue = await cut_off_with_a_message()
    await town.beat("a", "c")
    del town.nodes["b"]
    await pass_lives(town)

    assert await c.bodies(queue) == ["7"]
    assert town.shared.marks == {}


async def test_a_message_that_can_t_be_read_now_stops_no_beat_and_is_put_later() -> None:
    town, _, b, _, queue = await cut_off_with_a_message()
    town.store.fail("read", StoreUnavailable("its partition has no quorum"))
    await town.beat("a", "b")
    assert b.engine.cluster.unheard == []

    await pass_lives(town)

    assert await b.bodies(queue) == ["7"]
    assert town.shared.marks == {}


async def test_news_that_was_heard_is_not_told_again() -> None:
    town, a, b, _, queue = await cut_off_with_a_message()
    await pass_lives(town)

    assert [one.kind for one in town.shared.news].count(TELL) == 1
    assert len(a.engine.dirt) == 0
    assert await b.bodies(queue) == ["7"]
