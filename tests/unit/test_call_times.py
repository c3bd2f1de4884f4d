"""Call durations by queue: the reported value is a tight upper bound for the calls since the last reading."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator
from statistics import quantiles

import pytest

from cqs.errors import ReceiptHandleIsInvalid
from cqs.metrics.call_times import BUCKETS, CallTimes
from cqs.metrics.queue_stats import QueueStats
from cqs.metrics.rings import QUEUE_PEAKS, QUEUE_SUMS, QUEUE_TIMES, Ring
from cqs.metrics.shares import share_of, together
from cqs.queue import Queue
from cqs.service import delete, receive, send
from cqs.service.draft_rules import Draft
from cqs.service.receive import ReceiveRequest
from cqs.service.statistics import Sampler
from tests.engine import Bench, until
from tests.protocol.measured import measured_bench

MS = 1_000_000
TOOK_NS = 3 * MS
TOLD_MS = 3.145728
"""The bucket of 2.62 to 3.15 ms."""
NOTHING = (0.0, 0.0)


@pytest.mark.parametrize(
    ("took_ns", "told_ms"),
    [
        (0, 0.004096),
        (4_095, 0.004096),
        (4_096, 0.008192),
        (16_383, 0.016384),
        (16_384, 0.02048),
        (1 * MS, 1.048576),
        (TOOK_NS, TOLD_MS),
        (1_000 * MS, 1_073.741824),
        (3_600_000 * MS, 7_516.192768),
    ],
)
def test_a_time_is_told_as_the_end_of_its_bucket(took_ns: int, told_ms: float) -> None:
    times = CallTimes()
    times.observe(took_ns)

    assert times.look() == (told_ms, told_ms)


def test_each_bucket_begins_where_the_one_before_ends() -> None:
    begins_ns = 0
    for _ in range(BUCKETS - 1):
        ends_ns = told_ns(begins_ns)
        assert told_ns(ends_ns - 1) == ends_ns
        assert begins_ns < ends_ns <= max(begins_ns * 5 // 4, begins_ns + 4_096)
        begins_ns = ends_ns

    assert told_ns(10**15) == begins_ns


def told_ns(took_ns: int) -> int:
    """Returns the reported duration of a call that took that long."""
    times = CallTimes()
    times.observe(took_ns)
    return round(times.look()[0] * MS)


def test_half_and_99_percent_are_those_of_all_calls_within_a_quarter() -> None:
    rng, times = random.Random(7), CallTimes()
    taken = [round(rng.lognormvariate(0, 1.2) * MS) for _ in range(5_000)]
    for took_ns in taken:
        times.observe(took_ns)

    half_ms, most_ms = times.look()

    cuts = quantiles(taken, n=100)
    assert cuts[49] <= half_ms * MS <= cuts[49] * 1.26
    assert cuts[98] <= most_ms * MS <= cuts[98] * 1.26


def test_one_slow_call_of_a_hundred_is_not_in_99_percent_and_two_are() -> None:
    times = CallTimes()
    for slow in (1, 2):
        for _ in range(100 - slow):
            times.observe(MS)
        for _ in range(slow):
            times.observe(1_000 * MS)
        assert times.look() == (1.048576, 1.048576 if slow == 1 else 1_073.741824)


def test_what_was_looked_at_is_forgotten() -> None:
    times = CallTimes()
    times.observe(MS)

    assert times.look() != NOTHING
    assert times.look() == NOTHING


def test_a_charted_queue_takes_the_bytes_that_are_documented() -> None:
    stats = QueueStats("1", "orders")

    assert Ring(QUEUE_SUMS, QUEUE_PEAKS).size_bytes == 58_752
    assert sum(one.size_bytes for one in (stats.send_times, stats.receive_times, stats.delete_times)) == 1_920
    assert len(stats.look_at_times()) == len(QUEUE_TIMES)


class Stopwatch:
    """A clock that advances by TOOK_NS with each reading, so that every measurement is exactly that."""

    def __init__(self) -> None:
        self.now_ns = 0

    def __call__(self) -> int:
        self.now_ns += TOOK_NS
        return self.now_ns


@pytest.fixture
def stopwatch(monkeypatch: pytest.MonkeyPatch) -> Iterator[Stopwatch]:
    made = Stopwatch()
    for module in (send, receive, delete):
        monkeypatch.setattr(module, "perf_counter_ns", made)
    yield made


def times_of(bench: Bench, queue: Queue) -> dict[str, float]:
    """Returns the durations of the queue's calls since the last reading."""
    return dict(zip(QUEUE_TIMES, bench.engine.metrics.queues.meet(queue).look_at_times(), strict=True))


def only(**times: float) -> dict[str, float]:
    return dict.fromkeys(QUEUE_TIMES, 0.0) | times


@pytest.mark.parametrize("name", ["orders", "orders.fifo"])
@pytest.mark.usefixtures("stopwatch")
async def test_sends_receives_and_deletes_are_told_apart_and_a_batch_is_one_call(name: str) -> None:
    bench = await measured_bench()
    queue, other = await bench.create(name), await bench.create("other")
    drafts = [Draft(str(number), group="g", dedup_id=str(number)) for number in range(9)]
    if not queue.settings.is_fifo:
        drafts = [Draft(draft.body) for draft in drafts]

    await send.send_batch(bench.engine, queue, drafts, "s")
    assert times_of(bench, queue) == only(send_half_ms=TOLD_MS, send_most_ms=TOLD_MS)

    handles = [delivery.handle for delivery in await bench.receive(queue, 10)]
    assert times_of(bench, queue) == only(receive_half_ms=TOLD_MS, receive_most_ms=TOLD_MS)

    await delete.delete_batch(bench.engine, queue, handles)
    assert times_of(bench, queue) == only(delete_half_ms=TOLD_MS, delete_most_ms=TOLD_MS)
    assert times_of(bench, other) == only()


async def test_the_wait_of_a_long_poll_is_not_the_servers_time(stopwatch: Stopwatch) -> None:
    bench = await measured_bench()
    queue = await bench.create("orders")
    request = ReceiveRequest(1, None, wait_ms=20_000)
    waiting = asyncio.create_task(receive.receive(bench.engine, queue, request, lambda: True))
    await until(lambda: bench.engine.waiters.asleep(queue.uid) == 1)

    stopwatch.now_ns += 15_000 * MS
    await bench.send(queue, "one")

    assert len(await waiting) == 1
    told = times_of(bench, queue)
    assert (told["receive_half_ms"], told["receive_most_ms"]) == (TOLD_MS, TOLD_MS)


@pytest.mark.usefixtures("stopwatch")
async def test_receives_that_find_nothing_and_calls_that_fail_are_left_out() -> None:
    bench = await measured_bench()
    queue = await bench.create("orders")

    assert await bench.receive(queue) == []
    with pytest.raises(ReceiptHandleIsInvalid):
        await delete.delete(bench.engine, queue, "no handle")

    assert times_of(bench, queue) == only()


@pytest.mark.usefixtures("stopwatch")
async def test_a_receive_that_the_store_answers_counts_too() -> None:
    bench = await measured_bench()
    queue = await bench.create("orders")
    await bench.send(queue, "one")
    bench.cache.cut()

    assert len(await bench.receive(queue)) == 1

    assert times_of(bench, queue)["receive_most_ms"] > 0


async def test_of_several_workers_the_slowest_stands_and_counts_add_up() -> None:
    shares = []
    for took_ms in (2, 30):
        bench = await measured_bench()
        queue = await bench.create("orders")
        await bench.send(queue, "one")
        stats = bench.engine.metrics.queues.meet(queue)
        stats.look_at_times()
        stats.send_times.observe(took_ms * MS)
        await Sampler(bench.engine).sample()
        shares.append(share_of(bench.engine.metrics, {}, 0, bench.clock.now_ms() // 1_000))

    (recent,) = together(shares).queues.values()

    assert recent["sent"] == 2
    assert recent["send_most_ms"] == pytest.approx(33.554432)
