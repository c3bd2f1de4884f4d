"""The sampler: its counts, its charts, and what it does if the cache is unreachable."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import pytest

from cqs.cache.counts import Counts
from cqs.cache.interface import SURVEYED_MAX, Shard, Sight
from cqs.errors import CacheUnavailable
from cqs.metrics.node import NodeMetrics
from cqs.metrics.rings import Ring
from cqs.queue import Queue
from cqs.service import statistics
from cqs.service.engine import shard_of
from cqs.service.statistics import PASS_S_MAX, Sampler
from tests.engine import Bench, until
from tests.protocol.measured import measured_bench


def last(ring: Ring, bench: Bench) -> dict[str, float | None]:
    """The newest point of a ring by field."""
    chart = ring.chart(5, bench.clock.now_ms() // 1_000)
    return dict(zip(chart.fields, chart.rows[-1], strict=True))


def ring_of(bench: Bench, queue: Queue) -> Ring:
    stats = bench.engine.metrics.queues.get(queue.key)
    assert stats is not None and stats.ring is not None
    return stats.ring


async def test_each_sample_holds_what_happened_since_the_last_one() -> None:
    bench = await measured_bench()
    queue = await bench.create("orders")
    sampler = Sampler(bench.engine)
    await bench.send(queue, "one", "two")
    await sampler.sample()
    bench.clock.advance_ms(5_000)
    await bench.send(queue, "three")
    await bench.receive(queue, count_max=2)
    await sampler.sample()

    newest = last(ring_of(bench, queue), bench)

    assert (newest["sent"], newest["received"], newest["visible"], newest["in_flight"]) == (1, 2, 1, 2)
    assert newest["oldest_s"] == 0
    assert last(bench.engine.metrics.ring, bench)["sent"] == 1


async def test_a_queues_times_are_of_its_own_calls_since_the_last_sample() -> None:
    bench = await measured_bench()
    queue, other = await bench.create("orders"), await bench.create("other")
    sampler = Sampler(bench.engine)
    for one in (queue, other):
        await bench.send(one, "one")
        bench.engine.metrics.queues.meet(one).look_at_times()
    stats = bench.engine.metrics.queues.meet(queue)
    for took_ms in (1, 1, 1, 70):
        stats.delete_times.observe(took_ms * 1_000_000)
    await sampler.sample()
    newest, of_other = last(ring_of(bench, queue), bench), last(ring_of(bench, other), bench)
    bench.clock.advance_ms(5_000)
    await sampler.sample()

    assert newest["delete_half_ms"] == pytest.approx(1.048576)
    assert newest["delete_most_ms"] == pytest.approx(83.88608)
    assert of_other["delete_most_ms"] == newest["send_most_ms"] == newest["receive_most_ms"] == 0
    assert last(ring_of(bench, queue), bench)["delete_most_ms"] == 0


async def test_a_queue_that_was_full_when_the_process_started_has_a_ring() -> None:
    bench = await measured_bench()
    dead = await bench.create("dead")
    await bench.send(dead, "one", "two")
    started = replace(bench, engine=replace(bench.engine, metrics=NodeMetrics()))
    await Sampler(started.engine).sample()

    assert last(ring_of(started, dead), bench)["visible"] == 2


async def test_only_queues_with_traffic_or_messages_have_a_ring() -> None:
    bench = await measured_bench()
    queue = await bench.create("quiet")
    await Sampler(bench.engine).sample()

    stats = bench.engine.metrics.queues.get(queue.key)

    assert stats is not None
    assert stats.ring is None


async def test_depths_stay_as_they_were_while_the_cache_is_away() -> None:
    bench = await measured_bench()
    queue = await bench.create("orders")
    await bench.send(queue, "one")
    sampler = Sampler(bench.engine)
    await sampler.sample()
    bench.cache.fail("survey", CacheUnavailable("away"), times=100)
    await bench.send(queue, "two")

    await sampler.sample()

    depth = bench.engine.metrics.depths.get(queue.uid)
    assert depth is not None
    assert depth.counts.ready == 1
    assert last(bench.engine.metrics.ring, bench)["sent"] == 2


async def test_a_sample_learns_the_epoch_that_a_send_would_ask_for() -> None:
    bench = await measured_bench()
    queue = await bench.create("orders")
    await bench.send(queue, "one")
    epoch = (await bench.cache.state(shard_of(queue))).epoch
    bench.engine.epochs.note(shard_of(queue), epoch + 1)
    await Sampler(bench.engine).sample()
    bench.store.fail("read", AssertionError("asked"))

    await bench.send(queue, "two")

    assert bench.engine.epochs.of(shard_of(queue)).epoch == epoch
    assert (await bench.counts(queue)).ready == 2


async def test_many_queues_are_counted_turn_by_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statistics, "QUEUES_MAX", 3)
    bench = await measured_bench()
    for number in range(7):
        await bench.send(await bench.create(f"q{number}"), "x")
    sampler = Sampler(bench.engine)

    known = []
    for _ in range(3):
        await sampler.sample()
        known.append(len(bench.engine.metrics.depths))

    assert known == [3, 6, 7]
    assert bench.engine.metrics.depths.totals().ready == 7


async def test_a_pass_that_takes_too_long_is_gone_on_with_by_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = await measured_bench()
    for number in range(2 * SURVEYED_MAX + 1):
        await bench.create(f"q{number}")
    sampler, survey = Sampler(bench.engine), bench.cache.survey
    now_s, late_s = asyncio.get_running_loop().time, 0.0

    async def slow(shards: Sequence[Shard]) -> list[Sight | None]:
        nonlocal late_s
        late_s += PASS_S_MAX
        return await survey(shards)

    monkeypatch.setattr(bench.cache, "survey", slow)
    monkeypatch.setattr(asyncio.get_running_loop(), "time", lambda: now_s() + late_s)
    known = []
    for _ in range(3):
        await sampler.sample()
        known.append(len(bench.engine.metrics.depths))

    assert known == [SURVEYED_MAX, 2 * SURVEYED_MAX, 2 * SURVEYED_MAX + 1]


async def test_deleted_queue_is_no_longer_deep() -> None:
    bench = await measured_bench()
    queue = await bench.create("orders")
    await bench.send(queue, "one")
    await Sampler(bench.engine).sample()

    bench.engine.metrics.witness.queue_deleted(queue)

    assert bench.engine.metrics.depths.totals() == Counts()


async def test_sampler_runs_beside_the_server_and_measures_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statistics, "LAG_PERIOD_S", 0)
    bench = await measured_bench()
    await bench.create("orders")
    running = asyncio.create_task(statistics.run(bench.engine))

    await until(lambda: bench.engine.metrics.loop_lag.count > 3 and len(bench.engine.metrics.depths) == 1)
    running.cancel()
    await asyncio.wait([running])

    assert running.cancelled()
