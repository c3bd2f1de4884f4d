"""Two data centres with one store and a cache each: how a queue's home moves, and calls outside its home."""

from __future__ import annotations

from cqs.cache.interface import Residency
from cqs.errors import StoreUnavailable
from cqs.service.delete import delete
from cqs.service.engine import shard_of
from cqs.service.homes import BELIEVED_MS, GRACE_MS, HOLD_MS
from cqs.service.visibility import change
from tests.datacenters import LONG_MS, SECOND_MS, move_to, pass_ms, two


async def test_traffic_that_moves_to_the_other_data_centre_and_back_finds_every_message_once() -> None:
    town, a, b, queue = await two()
    expected: set[str] = set()
    got: list[str] = []
    for turn, bench in enumerate((a, b, a)):
        names = [f"{turn}-{number}" for number in range(30)]
        await bench.send(queue, *names[:15])
        expected.update(names)
        taken = await bench.receive(queue, 5)
        got += [delivery.message.body for delivery in taken]
        for delivery in taken:
            await delete(bench.engine, queue, delivery.handle)
        got += await move_to(town, bench, queue)
        await bench.send(queue, *names[15:])
        got += [delivery.message.body for delivery in await bench.receive(queue, 3, visibility_ms=LONG_MS)]

    got += await move_to(town, b, queue)
    assert sorted(got) == sorted(set(got))
    assert set(got) == expected
    assert len(await b.stored(queue)) == 9


async def test_a_data_centre_that_lost_a_home_drops_the_shard_and_says_nothing_of_it() -> None:
    town, a, b, queue = await two()
    await a.send(queue, "one", "two")
    assert (await a.cache.state(shard_of(queue))).residency is Residency.READY

    got = await move_to(town, b, queue)

    assert sorted(got) == ["one", "two"]
    assert (await a.cache.state(shard_of(queue))).residency is Residency.ABSENT
    assert await a.bodies(queue) == []


async def test_what_is_received_here_is_not_handed_out_there_while_both_get_traffic() -> None:
    town, a, b, queue = await two()
    await a.send(queue, *(f"{number}" for number in range(20)))
    got: list[str] = []
    for _ in range(2 * HOLD_MS // SECOND_MS):
        for bench in (a, b):
            got += [delivery.message.body for delivery in await bench.receive(queue, 1)]
        await pass_ms(town, SECOND_MS)

    assert sorted(got, key=int) == [f"{number}" for number in range(20)]


async def test_what_was_deleted_past_its_home_does_not_return() -> None:
    town, a, b, queue = await two()
    await a.send(queue, "one")
    (one,) = await a.receive(queue, visibility_ms=5 * SECOND_MS)

    await delete(b.engine, queue, one.handle)
    await pass_ms(town, 10 * SECOND_MS)

    assert await a.bodies(queue) == []
    assert await b.bodies(queue) == []


async def test_what_the_returning_home_kept_of_deleted_messages_is_dropped() -> None:
    town, a, b, queue = await two()
    await a.send(queue, "one", "two")
    stale = town.nodes.pop("a")
    await pass_ms(town, 10 * SECOND_MS)
    assert sorted(await move_to(town, b, queue)) == ["one", "two"]
    assert (await stale.cache.state(shard_of(queue))).residency is Residency.READY

    again = await town.node("a", "dc1")
    await town.beat()
    assert await again.bodies(queue) == []
    assert await move_to(town, again, queue) == []


async def test_what_is_sent_past_its_home_is_handed_out_there_after_the_next_beats() -> None:
    town, a, b, queue = await two()
    await b.send(queue, "one")
    await town.beat("b")
    await town.beat("a")

    assert await a.bodies(queue) == ["one"]
    await pass_ms(town, 2 * GRACE_MS)
    assert await b.bodies(queue) == []


async def test_what_is_told_before_it_is_replicated_is_waited_for() -> None:
    town, a, b, queue = await two()
    await b.send(queue, "one")
    await town.beat("b")
    read = town.store.read

    async def not_yet(*_: object) -> list[object]:
        return []

    town.store.read = not_yet  # type: ignore[method-assign, assignment]
    await town.beat("a")
    assert await a.bodies(queue) == []
    town.store.read = read  # type: ignore[method-assign]
    await town.beat("a")

    assert await a.bodies(queue) == ["one"]


async def test_what_can_t_be_read_when_it_is_told_stops_no_beat_and_is_put_later() -> None:
    town, a, b, queue = await two()
    await b.send(queue, "one")
    await town.beat("b")
    town.store.fail("read", StoreUnavailable("its partition has no quorum"))
    await town.beat("a")
    assert a.engine.cluster.unheard == []
    await town.beat("a")

    assert await a.bodies(queue) == ["one"]


async def test_a_changed_timeout_holds_in_both_data_centres() -> None:
    town, a, b, queue = await two()
    await a.send(queue, "one")
    (one,) = await a.receive(queue, visibility_ms=5 * SECOND_MS)

    await change(b.engine, queue, one.handle, 60 * SECOND_MS)
    await pass_ms(town, 10 * SECOND_MS)

    assert await a.bodies(queue) == []
    assert await b.bodies(queue) == []


async def test_a_home_stays_for_a_while() -> None:
    _, _, b, queue = await two()
    homes = b.engine.cluster.homes
    assert homes is not None
    await b.receive(queue)
    await b.engine.background.drain()

    home = await homes.look(shard_of(queue))
    assert home is not None
    assert home.datacenter == "dc1"


async def test_a_shard_that_was_idle_is_checked_before_it_is_used() -> None:
    town, a, b, queue = await two()
    await a.send(queue, "one")
    town.clock.advance_ms(HOLD_MS + BELIEVED_MS)
    await town.beat("b")
    assert await b.engine.cache.begin_fill(shard_of(queue), queue.settings.retention_ms) is None
    town.clock.advance_ms(GRACE_MS)

    assert await a.bodies(queue) == []
