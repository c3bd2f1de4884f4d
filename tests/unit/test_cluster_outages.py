"""A cache server that one node or all nodes can't reach, without restarting: its content lags behind the store."""

from __future__ import annotations

import pytest

from cqs.cache.interface import Residency
from cqs.errors import CacheUnavailable
from cqs.service import heartbeat, repair
from cqs.service.delete import delete
from cqs.service.engine import shard_of
from cqs.service.fallback import _own_first
from cqs.service.marking import FRESH_S
from cqs.service.membership import LIFE_MS
from cqs.service.visibility import change
from tests.cluster import PLACE, Cut, two_nodes, waits_for_marks

SECOND_MS = 1_000


async def test_what_a_cut_off_node_deleted_is_not_handed_out_by_another(monkeypatch: pytest.MonkeyPatch) -> None:
    waits_for_marks(monkeypatch)
    town, a, b, queue = await two_nodes()
    await a.send(queue, "one", "two")
    (one,) = await a.receive(queue, 1, visibility_ms=SECOND_MS)
    cut = Cut(town, "a")
    cut.cut()

    await delete(a.engine, queue, one.handle)
    await town.beat()
    town.clock.advance_ms(SECOND_MS)
    await town.cache.reveal(shard_of(queue), queue.settings.retention_ms, 100)

    assert await b.bodies(queue) == ["two"]


async def test_what_a_cut_off_node_was_sent_another_hands_out_at_the_next_beat() -> None:
    town, a, b, queue = await two_nodes()
    cut = Cut(town, "a")
    cut.cut()
    await town.beat("a", "b")
    await a.send(queue, "one")

    assert await b.bodies(queue) == []
    await town.beat("a", "b")

    assert await b.bodies(queue) == ["one"]


async def test_a_node_that_alone_has_lost_the_cache_hands_nothing_out() -> None:
    town, a, b, queue = await two_nodes()
    await b.send(queue, "one")
    assert await b.bodies(queue) == ["one"]
    await b.send(queue, "two")
    Cut(town, "a").cut()
    await town.beat()
    assert await a.bodies(queue) == []
    town.clock.advance_ms(round(FRESH_S * 1_000))
    await town.beat()

    assert await a.bodies(queue) == [], "also when its mark is known"
    assert await b.bodies(queue) == ["two"]


async def test_an_outage_costs_a_mark_or_two_and_not_one_a_message() -> None:
    town, a, _, queue = await two_nodes()
    await a.send(queue, "old")
    (old,) = await a.receive(queue)
    town.clock.advance_ms(1)
    marked: list[object] = []
    coordination = a.engine.cluster.coordination
    mark_dirty = coordination.mark_dirty

    async def counted(mark: object) -> None:
        marked.append(mark)
        await mark_dirty(mark)  # type: ignore[arg-type]

    coordination.mark_dirty = counted  # type: ignore[method-assign, assignment]
    Cut(town, "a").cut()
    for number in range(100):
        await a.send(queue, str(number))
        town.clock.advance_ms(10)
    assert len(marked) == 1

    await delete(a.engine, queue, old.handle)
    await a.send(queue, "last")

    assert len(marked) == 2


async def test_a_mark_goes_when_all_is_repaired() -> None:
    town, a, b, queue = await two_nodes()
    cut = Cut(town, "a")
    cut.cut()
    await a.send(queue, "one")
    await town.beat()
    assert b.engine.marks.is_on(shard_of(queue))

    cut.mend()
    await repair.step(a.engine)
    await town.beat("a", "b")

    assert not a.engine.marks.is_on(shard_of(queue))
    assert not b.engine.marks.is_on(shard_of(queue))
    assert await b.bodies(queue) == ["one"]


async def test_a_node_that_ends_repairs_what_it_can_and_leaves_no_mark() -> None:
    town, a, b, queue = await two_nodes()
    town.cache.fail("put", CacheUnavailable("lost"))
    await a.send(queue, "one")
    await town.beat()
    epoch = (await town.cache.state(shard_of(queue))).epoch

    await heartbeat.leave(a.engine)
    del town.nodes["a"]
    town.clock.advance_ms(LIFE_MS)
    await town.beat()
    await town.beat()

    assert town.shared.marks == {}
    assert (await town.cache.state(shard_of(queue))).epoch == epoch
    assert await b.bodies(queue) == ["one"]


async def test_the_leader_drops_the_shard_of_a_dead_nodes_mark_and_it_is_filled_anew(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    waits_for_marks(monkeypatch)
    town, a, b, queue = await two_nodes()
    await b.send(queue, "one", "two")
    (one, two_) = await b.receive(queue, visibility_ms=60_000)
    cut = Cut(town, "a")
    cut.cut()
    await delete(a.engine, queue, one.handle)
    await a.send(queue, "three")
    await town.beat()
    epoch = (await town.cache.state(shard_of(queue))).epoch

    await town.kill("a")
    await town.beat("b")
    town.clock.advance_ms(10_000)
    await town.beat("b")
    await town.beat("b")
    assert (await town.cache.state(shard_of(queue))).residency is Residency.ABSENT
    await b.receive(queue, 1, visibility_ms=0)
    await b.engine.background.drain()

    after = await town.cache.state(shard_of(queue))
    assert (after.residency, after.epoch != epoch) == (Residency.READY, True)
    assert town.shared.marks == {}
    assert await b.bodies(queue) == ["three"]
    assert two_.message.body == "two"


async def test_what_one_node_handed_out_from_the_store_another_does_not_take_from_a_cache_that_is_back() -> None:
    town, a, b, queue = await two_nodes()
    await a.send(queue, "one", "two")
    town.cache.cut()
    for name in ("a", "b"):
        town.lost[name].append(PLACE)
    await town.beat("a", "b", "a")
    await town.make_known(queue, "a")
    (first,) = await a.receive(queue, 1)
    await town.beat()

    town.cache.mend()
    for name in ("a", "b"):
        town.lost[name].clear()
    await town.beat()
    await repair.step(a.engine)
    await repair.step(b.engine)

    (second,) = await b.receive(queue)
    assert {first.message.body, second.message.body} == {"one", "two"}
    assert await a.receive(queue) == []
    town.clock.advance_ms(queue.settings.visibility_ms)
    await town.cache.reveal(shard_of(queue), queue.settings.retention_ms, 100)
    assert sorted(await a.bodies(queue)) == ["one", "two"]


async def test_a_lease_from_the_store_that_was_ended_is_not_believed_any_more() -> None:
    town, a, _, queue = await two_nodes()
    await a.send(queue, "one")
    await town.cache.drop(shard_of(queue))
    await town.cache.begin_fill(shard_of(queue), queue.settings.retention_ms)
    (one,) = await a.receive(queue)
    epoch = (await town.cache.state(shard_of(queue))).epoch
    await town.cache.fill(shard_of(queue), epoch, [], is_last=True)

    await change(a.engine, queue, one.handle, 0)

    assert await a.bodies(queue) == ["one"]


async def test_nodes_that_serve_from_the_store_begin_with_rows_of_their_own() -> None:
    town, a, b, queue = await two_nodes()
    await town.beat()
    rows = list(range(100))

    mine, yours = (_own_first(bench.engine, queue, rows) for bench in (a, b))

    assert sorted(mine) == sorted(yours) == rows
    assert not set(mine[:30]) & set(yours[:30])


async def test_a_node_that_was_taken_for_dead_makes_its_mark_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    waits_for_marks(monkeypatch)
    town, a, b, queue = await two_nodes()
    await a.send(queue, "one")
    (one,) = await a.receive(queue)
    Cut(town, "a").cut()
    await delete(a.engine, queue, one.handle)
    town.clock.advance_ms(2 * LIFE_MS)
    await town.beat("b")
    town.clock.advance_ms(SECOND_MS)
    await town.beat("b")
    assert not town.shared.marks
    await b.receive(queue)
    await b.engine.background.drain()
    await b.send(queue, "two")
    (two,) = await b.receive(queue, visibility_ms=SECOND_MS)
    waits = waits_for_marks(monkeypatch)

    await delete(a.engine, queue, two.handle)
    town.clock.advance_ms(SECOND_MS)
    await town.cache.reveal(shard_of(queue), queue.settings.retention_ms, 100)
    await town.beat("b")

    assert await b.bodies(queue) == []
    assert sum(waits) == SECOND_MS


async def test_a_mark_of_a_former_life_is_taken_over_though_the_clock_was_set_back() -> None:
    town, a, b, queue = await two_nodes()
    town.clock.advance_ms(3_600_000)
    Cut(town, "a").cut()
    await a.send(queue, "one")
    await town.kill("a")
    town.clock.advance_ms(-3_600_000)
    town.shared.nodes.clear()
    town.shared.leaders.clear()
    object.__setattr__(b.engine.marks, "read_s", float("-inf"))

    await town.node("a")
    await town.beat()
    await town.beat()

    assert not town.shared.marks
    assert await b.bodies(queue) == ["one"]
