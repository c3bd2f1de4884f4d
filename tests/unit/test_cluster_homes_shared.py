"""At no moment do two data centres both consider themselves the home of a FIFO queue, whatever fails while it moves."""

from __future__ import annotations

import pytest

from cqs.cache.interface import Shard
from cqs.errors import OutcomeUnknown
from cqs.queue import Queue
from cqs.service import queues
from cqs.service.engine import shard_of
from cqs.service.homes import HOLD_MS, RETURN_MS, Homes
from cqs.store.coordination import News
from tests.cluster import Town
from tests.datacenters import SECOND_MS, pass_ms, two
from tests.engine import Bench

TICK_MS = 250


def homes_of(bench: Bench) -> Homes:
    homes = bench.engine.cluster.homes
    assert homes is not None
    return homes


async def held() -> tuple[Town, Bench, Bench, Bench, Queue]:
    """Node a in dc1, b and c in dc2; dc1 has been home to a FIFO queue for so long that dc2 may take it."""
    town, a, b, queue = await two("orders.fifo")
    c = await town.node("c", "dc2")
    await a.send(queue, "one")
    for _ in range(HOLD_MS // SECOND_MS + 1):
        await a.bodies(queue)
        await pass_ms(town, SECOND_MS)
    return town, a, b, c, queue


async def take(bench: Bench, shard: Shard) -> None:
    assert await homes_of(bench).may_take(shard)
    assert await homes_of(bench).take(shard)


async def watch(town: Town, shard: Shard, until_ms: int, *, silent: str = "", silent_ms: int = 0) -> list[str]:
    """Looks at each node's opinion until then; all beat each second, except one that is silent for a while. Returns the
    nodes of the new home at the end."""
    at_home: list[str] = []
    for at_ms in range(0, until_ms, TICK_MS):
        at_home = [name for name, bench in town.nodes.items() if await homes_of(bench).is_here(shard)]
        where = {town.nodes[name].engine.cluster.datacenter for name in at_home}
        assert len(where) < 2, f"after {at_ms} ms: {at_home}"
        town.clock.advance_ms(TICK_MS)
        if at_ms % SECOND_MS == 0:
            await town.beat(*[name for name in town.nodes if name != silent or at_ms > silent_ms])
    return at_home


@pytest.mark.parametrize("silent_ms", range(0, 8 * SECOND_MS, SECOND_MS))
async def test_a_home_whose_beats_are_late_ends_before_the_next_one_begins(silent_ms: int) -> None:
    town, _, b, _, queue = await held()
    await take(b, shard_of(queue))

    at_home = await watch(town, shard_of(queue), RETURN_MS, silent="a", silent_ms=silent_ms)

    assert at_home == ["b", "c"]


async def test_a_home_taken_by_a_node_that_died_before_it_could_tell_begins_when_the_former_one_has_ended() -> None:
    town, a, b, _, queue = await held()
    coordination = b.engine.cluster.coordination
    announce = coordination.announce

    async def lost(news: News) -> None:
        if news.subject.startswith(f"{queue.uid}/0/dc2/2"):
            raise OutcomeUnknown("lost")
        await announce(news)

    coordination.announce = lost  # type: ignore[method-assign]
    with pytest.raises(OutcomeUnknown):
        await take(b, shard_of(queue))
    del town.nodes["b"]
    for bench in town.nodes.values():
        await homes_of(bench).look(shard_of(queue))

    at_home = await watch(town, shard_of(queue), RETURN_MS)

    assert at_home == ["c"]
    assert not await homes_of(a).is_here(shard_of(queue))


async def test_what_is_lost_with_a_home_is_the_shard_of_the_queue_as_it_was_last_purged() -> None:
    town, a, b, _, queue = await held()

    async def pause(ms: int) -> None:
        await pass_ms(town, ms)

    await queues.purge(a.engine, queue, pause)
    purged = a.engine.registry.find(queue.key)
    await a.bodies(purged)
    await take(b, shard_of(purged))
    await town.beat("b")
    lost: list[Shard] = []
    still_lost = homes_of(a).still_lost

    def watched() -> list[Shard]:
        lost.extend(still_lost())
        return lost

    homes_of(a).still_lost = watched  # type: ignore[method-assign]
    await town.beat("a")

    assert lost == [shard_of(purged)]
