"""The node's own statistics: samples for charts, snapshots for scrapes, and health.

    every 5 s    count up to QUEUES_MAX queues ──► depths ──► rings (node, and each queue with traffic or messages)
    a scrape     recount the queues with series ──► snapshot ──► text, in a thread

Queues are counted SURVEYED_MAX at a time, with one cache call each time. A pass is spread over SPREAD_S, so that other
work never waits for more than one such call. With more queues than QUEUES_MAX, or than can be counted in PASS_S_MAX,
each pass continues where the last one ended, and the totals lag accordingly.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable, Sequence

from cqs.cache.counts import Counts
from cqs.cache.interface import SURVEYED_MAX, Sight
from cqs.errors import CacheUnavailable, CqsError, ServiceUnavailable
from cqs.metrics import declarations as d
from cqs.metrics import latency
from cqs.metrics.collector import Snapshot
from cqs.metrics.depths import Depth, age_s
from cqs.metrics.node import ring_of
from cqs.metrics.queue_table import OTHER
from cqs.metrics.rings import NODE_SUMS, QUEUE_SUMS, SAMPLE_S, Ring
from cqs.queue import Queue, QueueName
from cqs.service.counting import is_lost, refill
from cqs.service.engine import Engine, shard_of
from cqs.service.whereabouts import served_elsewhere

SENDS = ("SendMessage", "SendMessageBatch")
QUEUES_MAX = 10_000
"""Queues counted in one pass."""
SPREAD_S, PASS_S_MAX = 3.0, 4.0
"""How long a pass takes normally, and at most on an overloaded machine: charts get a sample every SAMPLE_S."""
QUEUES_A_TURN = 50
"""Queues sampled before other tasks get a turn."""
SAMPLES_A_HOUSEKEEPING = 12
LAG_PERIOD_S = 0.25
HEALTH_S_MAX = 5.0


async def run(engine: Engine) -> None:
    """Runs for ever: takes a sample every SAMPLE_S, the first one at once, and measures the event loop's lag in
    between."""
    async with asyncio.TaskGroup() as group:
        group.create_task(_measure_lag(engine))
        sampler, spread_s = Sampler(engine), 0.0
        while True:
            await sampler.sample(spread_s)
            spread_s = SPREAD_S
            await asyncio.sleep(SAMPLE_S - engine.clock.now_ms() / 1_000 % SAMPLE_S)


class Sampler:
    """Updates depths and charts."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._next = 0
        self._samples = 0
        self._sends, self._cache_calls, self._store_calls = (
            latency.Lately(metric) for metric in (d.REQUEST_SECONDS, d.CACHE_SECONDS, d.STORE_SECONDS)
        )

    async def sample(self, spread_s: float = 0.0) -> None:
        """One pass; `spread_s`: the time over which counting is spread. If the cache is unavailable, depths keep their
        last values."""
        engine, metrics = self._engine, self._engine.metrics
        queues = list(engine.registry)
        await self._count(queues, spread_s)
        metrics.depths.sampled_ms = engine.clock.now_ms()
        if len(metrics.depths) > len(queues) or self._samples % SAMPLES_A_HOUSEKEEPING == 0:
            uids = {queue.uid for queue in queues}
            metrics.depths.keep_only(uids)
            metrics.queues.forget_gone(uids, engine.registry.has, metrics.depths.sampled_ms)
        self._samples += 1
        _admit(engine, queues)
        await self._draw()

    async def _count(self, queues: Sequence[Queue], spread_s: float) -> None:
        """Counts some of the queues, SURVEYED_MAX at a time, from where the last pass ended; other tasks run in
        between."""
        now_s = asyncio.get_running_loop().time
        begun_s, first = now_s(), self._next if self._next < len(queues) else 0
        place, end = first, min(first + QUEUES_MAX, len(queues))
        while place < end and now_s() - begun_s < PASS_S_MAX:
            await survey(self._engine, queues[place : min(place + SURVEYED_MAX, end)])
            place = min(place + SURVEYED_MAX, end)
            due_s = begun_s + spread_s * (place - first) / (end - first)
            await asyncio.sleep(max(0.0, due_s - now_s()))
        self._next = place

    async def _draw(self) -> None:
        engine, metrics = self._engine, self._engine.metrics
        now_ms = engine.clock.now_ms()
        totals = metrics.depths.totals()
        sums = [metrics.queues.total(field) for field in QUEUE_SUMS]
        sums += metrics.calls.totals()
        assert len(sums) == len(NODE_SUMS)
        _add(metrics.ring, now_ms, sums, [*_peaks(totals, now_ms), len(engine.waiters), *self._latencies()])
        for place, stats in enumerate(metrics.queues):
            if place % QUEUES_A_TURN == 0:
                await asyncio.sleep(0)
            queue = engine.registry.get(QueueName(stats.account, stats.name))
            depth = metrics.depths.get(queue.uid) if queue is not None else None
            ring = ring_of(stats, depth.messages if depth is not None else 0)
            if ring is not None:
                counts = depth.counts if depth is not None else Counts()
                peaks = [*_peaks(counts, now_ms), *stats.look_at_times()]
                _add(ring, now_ms, [getattr(stats, field) for field in QUEUE_SUMS], peaks)

    def _latencies(self) -> list[float]:
        """In the order of NODE_PEAKS. Of API calls only sends: how long a receive takes is up to the client."""
        metrics = self._engine.metrics
        by_action = metrics.calls.by_action
        self._sends.look(by_action[name].duration for name in SENDS if name in by_action)
        self._cache_calls.look(call.duration for call in metrics.cache.by_call.values())
        self._store_calls.look(call.duration for call in metrics.store.by_call.values())
        sends = [self._sends.quantile_ms(share) for share in (0.5, 0.99)]
        return [*sends, self._cache_calls.quantile_ms(0.99), self._store_calls.quantile_ms(0.99)]


def _add(ring: Ring, now_ms: int, sums: Sequence[int], peaks: Iterable[float]) -> None:
    grown = [now - before for now, before in zip(sums, ring.last, strict=True)]
    ring.last = tuple(sums)
    ring.add(now_ms // 1_000, [*grown, *peaks])


def _peaks(counts: Counts, now_ms: int) -> list[float]:
    return [counts.ready, counts.in_flight, counts.delayed, age_s(counts.oldest_ms, now_ms)]


def _admit(engine: Engine, queues: Sequence[Queue]) -> None:
    """Gives series to queues without traffic that hold messages or, if there is room, to all."""
    table = engine.metrics.queues
    if table.has_room_for(len(queues)):
        for queue in queues:
            table.meet(queue)
        return
    for depth in engine.metrics.depths.held():
        if depth.uid not in table.by_uid and (queue_now := engine.registry.get(depth.name)) is not None:
            table.meet(queue_now)


async def survey(engine: Engine, queues: Sequence[Queue]) -> list[Sight | None]:
    """Counts these queues now; None = cache unreachable. Records depths, and epochs, which saves the next send a
    lookup. Queues that the cache has lost are refilled and keep their last depth."""
    try:
        sights = await engine.cache.survey([shard_of(queue) for queue in queues])
    except CacheUnavailable:
        return [None] * len(queues)
    lost = []
    for queue, sight in zip(queues, sights, strict=True):
        if sight is not None and is_lost(engine, shard_of(queue), sight.state.residency):
            lost.append(queue)
        elif sight is not None:
            if sight.state.epoch:
                engine.epochs.note(shard_of(queue), sight.state.epoch)
            engine.metrics.depths.put(depth_of(engine, queue, sight.counts))
    refill(engine, lost)
    return sights


def depth_of(engine: Engine, queue: Queue, counts: Counts) -> Depth:
    """The queue's depth in the form that metrics keep."""
    return Depth(
        name=queue.key,
        uid=queue.uid,
        counts=counts,
        retention_ms=queue.settings.retention_ms,
        is_dead_letter=bool(engine.registry.sources(queue, "", 1)),
    )


async def snapshot(engine: Engine) -> Snapshot:
    """The part of a scrape that runs in the event loop: queues with series are counted now, the others as last
    sampled."""
    metrics = engine.metrics
    is_leader = metrics.is_leader()
    depths = await admitted_depths(engine) if _tells_depths(engine) else None
    now_ms = engine.clock.now_ms()
    values: dict[d.Metric, float] = {
        d.QUEUES: len(engine.registry),
        d.MOVE_TASKS: len(engine.moves.active()),
        d.WAITERS: len(engine.waiters),
        d.DIRTY: len(engine.dirt),
        d.HIT_RATIO: metrics.hit_ratio(now_ms // 1_000),
        d.QUEUE_SERIES: len(metrics.queues),
        d.LEADER: is_leader,
    }
    values |= metrics.watched()
    told = {metric: value for metric, value in values.items() if is_leader or metric.scope is d.Scope.NODE}
    return Snapshot(now_ms=now_ms, depths=depths, watched=told)


def _tells_depths(engine: Engine) -> bool:
    """Of several data centres each counts the queues that it is home to, so one node of each tells them."""
    cluster = engine.cluster
    return engine.metrics.is_leader() if cluster.homes is None else cluster.tending.is_held


async def admitted_depths(engine: Engine) -> list[Depth]:
    """The depth of every existing queue with its own series, then the sum of all other queues, named `_other`. A queue
    that another data centre serves counts as empty."""
    metrics = engine.metrics
    found = [engine.registry.get(QueueName(stats.account, stats.name)) for stats in metrics.queues]
    queues = [queue for queue in found if queue is not None]
    await survey(engine, queues)
    full = [queue for queue in queues if (depth := metrics.depths.get(queue.uid)) is not None and depth.messages]
    for queue in await served_elsewhere(engine, full):
        metrics.depths.put(depth_of(engine, queue, Counts()))
    own = [depth for queue in queues if (depth := metrics.depths.get(queue.uid)) is not None]
    rest = metrics.depths.totals(without={depth.uid for depth in own})
    other = Depth(name=QueueName("", OTHER), uid=-1, counts=rest, retention_ms=0, is_dead_letter=False)
    return [*own, other]


async def check_health(engine: Engine) -> None:
    """Returns if store and cache answer. Raises ServiceUnavailable, naming the part that does not."""
    await _probe("store", engine.store.highest_address())
    await _probe("cache", engine.cache.next_vesting_ms())


async def _probe(part: str, work: Coroutine[object, object, object]) -> None:
    probe = asyncio.ensure_future(work)
    await asyncio.wait((probe,), timeout=HEALTH_S_MAX)
    if not probe.done():
        probe.cancel()
        raise ServiceUnavailable(f"The {part} does not answer within {HEALTH_S_MAX:g} s.")
    try:
        probe.result()
    except CqsError as error:
        raise ServiceUnavailable(f"The {part} does not answer: {error}") from error


async def _measure_lag(engine: Engine) -> None:
    loop = asyncio.get_running_loop()
    while True:
        due_s = loop.time() + LAG_PERIOD_S
        await asyncio.sleep(LAG_PERIOD_S)
        engine.metrics.loop_lag.observe(max(0, round((loop.time() - due_s) * 1e9)))
