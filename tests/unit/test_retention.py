"""Messages expire at the end of their retention even if nobody ever receives, as from a dead-letter queue."""

from __future__ import annotations

import pytest

from cqs.cache.interface import Revealed, Shard
from cqs.service import queues, revisibility
from tests.engine import Bench, make_bench

MINUTE_MS, HOUR_MS = 60_000, 3_600_000


async def bodies_in_store(node: Bench) -> list[str]:
    await node.engine.background.drain()
    (queue,) = node.engine.registry
    return [message.body for message in await node.stored(queue)]


@pytest.mark.parametrize("name", ["orders", "orders.fifo"])
@pytest.mark.parametrize("is_filled", [False, True])
async def test_what_nobody_ever_receives_expires(name: str, is_filled: bool) -> None:
    bench = await make_bench()
    queue = await bench.create(name, retention_ms=MINUTE_MS)
    await bench.send(queue, "one")
    if is_filled:
        bench = await bench.restart()
    bench.clock.advance_ms(MINUTE_MS - 1)
    await revisibility.step(bench.engine)
    assert (await bench.counts(queue)).ready == 1

    bench.clock.advance_ms(1)
    await revisibility.step(bench.engine)

    assert (await bench.counts(queue)).ready == 0
    assert await bodies_in_store(bench) == []


async def test_what_nobody_ever_receives_expires_after_a_purge() -> None:
    bench = await make_bench()
    queue = await bench.create("orders", retention_ms=MINUTE_MS)
    await queues.purge(bench.engine, queue)
    await bench.send(bench.engine.registry.find(queue.key), "one")
    bench.clock.advance_ms(MINUTE_MS)

    await revisibility.step(bench.engine)

    assert await bodies_in_store(bench) == []


async def test_a_shorter_retention_rules_what_nobody_ever_receives() -> None:
    bench = await make_bench()
    queue = await bench.create("orders", retention_ms=HOUR_MS)
    await bench.send(queue, "one", "two")
    bench.clock.advance_ms(MINUTE_MS)
    await bench.send(queue, "three")

    queue = await queues.change_settings(bench.engine, queue, {"retention_ms": MINUTE_MS})

    assert await bodies_in_store(bench) == ["three"]
    bench.clock.advance_ms(MINUTE_MS)
    await revisibility.step(bench.engine)
    assert await bodies_in_store(bench) == []


async def test_a_longer_retention_rules_what_nobody_ever_receives() -> None:
    bench = await make_bench()
    queue = await bench.create("orders", retention_ms=MINUTE_MS)
    await bench.send(queue, "one")

    await queues.change_settings(bench.engine, queue, {"retention_ms": HOUR_MS})

    bench.clock.advance_ms(HOUR_MS - 1)
    await revisibility.step(bench.engine)
    assert await bodies_in_store(bench) == ["one"]


@pytest.mark.parametrize(
    ("name", "changes", "looks"),
    [
        ("orders", {"visibility_ms": 1, "delay_ms": 1, "policy": ""}, 0),
        ("orders", {"retention_ms": MINUTE_MS}, 1),
        ("orders.fifo", {"visibility_ms": 1}, 0),
        ("orders.fifo", {"delay_ms": 1}, 1),
    ],
)
async def test_what_may_be_due_or_over_is_looked_for_when_its_settings_change(
    name: str, changes: dict[str, object], looks: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = await make_bench()
    queue = await bench.create(name)
    looked: list[Shard] = []

    async def reveal(shard: Shard, *_: int) -> Revealed:
        looked.append(shard)
        return Revealed(0, [], None)

    monkeypatch.setattr(bench.cache, "reveal", reveal)

    await queues.change_settings(bench.engine, queue, changes)

    assert len(looked) == looks


async def test_settings_change_while_the_cache_is_out_of_reach() -> None:
    bench = await make_bench()
    queue = await bench.create("orders")
    bench.cache.cut()

    queue = await queues.change_settings(bench.engine, queue, {"retention_ms": MINUTE_MS})

    assert queue.settings.retention_ms == MINUTE_MS
