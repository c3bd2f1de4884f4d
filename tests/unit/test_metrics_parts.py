"""Histograms, calls, timed layers, depths."""

from __future__ import annotations

import random
import re

import pytest

from cqs.cache.counts import Counts
from cqs.cache.interface import QueueCache, Shard
from cqs.cache.memory import MemoryCache
from cqs.errors import CacheUnavailable
from cqs.metrics.calls import Calls
from cqs.metrics.declarations import ALL, CACHE_SECONDS, Kind
from cqs.metrics.depths import Depth, Depths, age_s
from cqs.metrics.histogram import Histogram
from cqs.metrics.timed import LayerTimes, timed
from cqs.queue import QueueName
from cqs.store.interface import Store
from cqs.store.memory import MemoryStore
from cqs.testing.clock import ManualClock
from tests.engine import FailingCache


def depth_of(uid: int, **counts: int) -> Depth:
    return Depth(name=QueueName("1", f"q{uid}"), uid=uid, counts=Counts(**counts), retention_ms=1, is_dead_letter=False)


def test_names_follow_prometheus() -> None:
    wrong = [
        metric.name
        for metric in ALL
        if not re.fullmatch(r"cqs_[a-z0-9_]+", metric.name)
        or (metric.kind is Kind.COUNTER) != metric.name.endswith("_total")
        or re.search(r"_(ms|kb|count|sum|bucket)(_|$)", metric.name)
    ]

    assert wrong == []
    assert len({metric.name for metric in ALL}) == len(ALL)


def test_values_on_a_bound_belong_below_it() -> None:
    histogram = Histogram((0.001, 0.01))

    for value in (999_999, 1_000_000, 1_000_001, 10_000_000, 10_000_001):
        histogram.observe(value)

    assert histogram.counts == [2, 2, 1]
    assert histogram.sum == pytest.approx(0.023000001)


def test_quantiles_are_bounds_of_buckets() -> None:
    histogram = Histogram((1.0, 2.0, 4.0), 1)
    assert histogram.quantile(0.5) == 0.0

    for value in (1, 1, 1, 3, 9):
        histogram.observe(value)

    assert (histogram.quantile(0.5), histogram.quantile(0.8), histogram.quantile(0.99)) == (1.0, 4.0, 4.0)


def test_calls_are_counted_by_action_and_code() -> None:
    calls = Calls()

    calls.record("SendMessage", "", 1_000)
    calls.record("SendMessage", "AccessDenied", 1_000)
    calls.record("", "InvalidAction", 0)

    assert calls.by_action["SendMessage"].ok == 1
    assert calls.by_action["SendMessage"].failures == {"AccessDenied": 1}
    assert calls.by_action["none"].failures == {"InvalidAction": 1}
    assert calls.totals() == (3, 2)


async def test_timed_cache_answers_as_the_inner_one_and_counts() -> None:
    clock = ManualClock()
    inner = MemoryCache(clock, random.Random(1), 1_000)
    times = LayerTimes(CACHE_SECONDS)
    cache: QueueCache = timed(inner, QueueCache, times)

    epoch = await cache.begin_fill(Shard(1), 60_000)
    assert epoch is not None
    assert await cache.fill(Shard(1), epoch, [], is_last=True)

    assert (await cache.state(Shard(1))).epoch == epoch
    assert {name: call.duration.count for name, call in times.by_call.items() if call.duration.count} == {
        "begin_fill": 1,
        "fill": 1,
        "state": 1,
    }


async def test_failed_call_is_counted_and_not_timed() -> None:
    inner = FailingCache(ManualClock(), random.Random(1), 1_000)
    inner.fail("counts", CacheUnavailable("away"))
    times = LayerTimes(CACHE_SECONDS)
    cache = timed(inner, QueueCache, times)

    with pytest.raises(CacheUnavailable):
        await cache.counts(Shard(1))

    assert (times.by_call["counts"].errors, times.by_call["counts"].duration.count) == (1, 0)


async def test_timed_store_passes_on_what_is_no_coroutine() -> None:
    inner = MemoryStore(ManualClock())
    store = timed(inner, Store, LayerTimes(CACHE_SECONDS))

    await store.open()

    assert store.rows == inner.rows
    assert store.lease_soon == inner.lease_soon
    assert store.scan == inner.scan
    assert await store.secret() == await inner.secret()


def test_depths_add_up_while_queues_come_change_and_go() -> None:
    depths = Depths()
    depths.put(depth_of(1, ready=5, oldest_ms=50))
    depths.put(depth_of(2, in_flight=2, delayed=1, oldest_ms=20))
    assert depths.totals() == Counts(ready=5, in_flight=2, delayed=1, oldest_ms=20)

    depths.put(depth_of(1, ready=1, oldest_ms=70))
    depths.keep_only({1})

    assert depths.totals() == Counts(ready=1, oldest_ms=70)
    assert depths.get(2) is None


def test_age_is_never_negative() -> None:
    assert (age_s(None, 5), age_s(1_000, 3_500), age_s(9_000, 3_500)) == (0.0, 2.5, 0.0)
