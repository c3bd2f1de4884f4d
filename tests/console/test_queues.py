"""The list of queues: sorted, filtered, paged, downloaded."""

from __future__ import annotations

import csv
import io
import random
import re
import tomllib

import pytest

from admin.queue_list import ORDERS, Choice, counts_of, find, rates_of, ring_of
from cqs import boot
from cqs.config.queues import read_queues
from cqs.queue import Queue, Redrive
from cqs.service import tags
from cqs.service.engine import shard_of
from cqs.service.statistics import Sampler
from tests.console.desk import Desk, Seen
from tests.console.hostile import PLAIN_TEXTS
from tests.engine import ACCOUNT, Bench, make_bench
from tests.protocol.measured import measured_bench


def names(page: Seen) -> list[str]:
    """Returns the names of the queues in a list, in order."""
    return [part.partition('"')[0] for part in page.text.split('aria-label="Select ')[1:] if not part.startswith("all")]


async def test_the_fullest_queue_comes_first(desk: Desk) -> None:
    for name, count in (("few", 1), ("none", 0), ("many", 3)):
        await desk.bench.send(await desk.bench.create(name), *["x"] * count)
    await desk.get("/queues")

    assert names(await desk.get("/queues")) == ["many", "few", "none"]
    assert names(await desk.get("/queues?sort=name")) == ["few", "many", "none"]
    assert names(await desk.get("/queues?sort=-name")) == ["none", "many", "few"]
    assert names(await desk.get("/queues?sort=ready")) == ["none", "few", "many"]
    assert names(await desk.get("/queues?full=1")) == ["many", "few"]


async def test_a_filter_is_asked_of_every_queue_and_not_of_a_page(desk: Desk) -> None:
    for number in range(120):
        await desk.bench.create(f"q-{number:03}")
    await desk.bench.create("zebra")

    page = await desk.get("/queues?q=ZEB")

    assert names(page) == ["zebra"]
    assert "name has ZEB" in page.words
    assert names(await desk.get("/queues?page=3&sort=name"))[-1] == "zebra"
    assert len(names(await desk.get("/queues?page=99&sort=name"))) == 21


async def test_filters_by_kind_and_tag(desk: Desk) -> None:
    dead = await desk.bench.create("dead")
    orders = await desk.bench.create("orders", redrive=Redrive(dead.arn, 3))
    await desk.bench.create("line.fifo")
    await tags.tag(desk.bench.engine, orders, {"team": "shop"})

    assert names(await desk.get("/queues?kind=fifo")) == ["line.fifo"]
    assert names(await desk.get("/queues?kind=dead_letter")) == ["dead"]
    assert names(await desk.get("/queues?kind=source")) == ["orders"]
    assert names(await desk.get("/queues?tag=team%3Dshop")) == ["orders"]
    assert names(await desk.get("/queues?tag=team")) == ["orders"]
    assert names(await desk.get("/queues?tag=team%3Dother")) == []


def heads(page: Seen) -> list[str]:
    """Returns the columns of a list."""
    return re.findall(r"<th[^>]*>(?:<a[^>]*>)?([^<]+)<", page.text)


async def test_columns_are_left_out_by_address_or_by_what_the_browser_remembers(desk: Desk) -> None:
    await desk.bench.create("orders")

    assert heads(await desk.get("/queues"))[:3] == ["Name", "Ready", "In flight"]
    assert heads(await desk.get("/queues?cols=dead&cols=in")) == ["Name", "In/s", "Dead letters"]
    desk.headers["Cookie"] = "cqs_columns=oldest.nonsense.%22%3E"
    assert heads(await desk.get("/queues")) == ["Name", "Oldest"]
    assert heads(await desk.get("/queues?cols=ready")) == ["Name", "Ready"]
    desk.headers["Cookie"] = "cqs_columns=nonsense"
    assert len(heads(await desk.get("/queues"))) == 9


async def test_a_queue_that_the_store_answers_for_says_so(desk: Desk) -> None:
    queue = await desk.bench.create("orders")
    assert "answered by the store" not in (await desk.get("/queues")).words

    desk.bench.engine.dirt.note(shard_of(queue), [1])

    assert "answered by the store" in (await desk.get("/queues")).words


async def test_the_dead_letter_queue_is_linked_both_ways(desk: Desk) -> None:
    dead = await desk.bench.create("dead")
    await desk.bench.create("orders", redrive=Redrive(dead.arn, 3))

    assert f'href="/ADMIN/q/{ACCOUNT}/dead"' in (await desk.get(f"/q/{ACCOUNT}/orders")).text
    assert f'href="/ADMIN/q/{ACCOUNT}/orders"' in (await desk.get(f"/q/{ACCOUNT}/dead")).text


async def test_typing_in_the_search_field_finds_queues(desk: Desk) -> None:
    await desk.bench.create("orders")

    found = await desk.get("/find?q=ord", HX_Request="true")

    assert f'href="/ADMIN/q/{ACCOUNT}/orders"' in found.text
    assert "<html" not in found.text


async def test_the_table_is_taken_away_without_formulas(desk: Desk) -> None:
    await desk.bench.create("-SUM")
    await desk.bench.create("orders")

    page = await desk.get("/queues.csv?sort=name")

    rows = list(csv.reader(io.StringIO(page.raw.decode("utf-8-sig"))))
    assert page.headers["Content-Disposition"].startswith('attachment; filename="queues.csv"')
    assert [row[0] for row in rows] == ["name", "'-SUM", "orders"]


async def test_queues_taken_away_as_toml_can_be_declared_elsewhere(desk: Desk) -> None:
    dead = await desk.bench.create("dead")
    orders = await desk.bench.create("orders", redrive=Redrive(dead.arn, 4), visibility_ms=7_000, delay_ms=3_000)
    await tags.tag(desk.bench.engine, orders, {f"k{place}": text for place, text in enumerate(PLAIN_TEXTS)})
    await desk.bench.create("line.fifo", is_content_dedup=True)

    page = await desk.get("/queues.toml")

    declared = read_queues(tomllib.loads(page.raw.decode())["queue"], "test", ACCOUNT)
    other = await make_bench()
    await boot.declare(other.engine, declared)
    for queue in desk.bench.engine.registry:
        copy = other.engine.registry.find(queue.key)
        assert (copy.settings, copy.tags) == (queue.settings, queue.tags)


def number_of(bench: Bench, queue: Queue, order: str) -> float:
    """Returns the value that a list in this order is sorted by."""
    now_ms, counts = bench.clock.now_ms(), counts_of(bench.engine, queue)
    sent, deleted = rates_of(ring_of(bench.engine, queue), now_ms)
    numbers: dict[str, float] = {
        "backlog": counts.ready + counts.in_flight + counts.delayed,
        "ready": counts.ready,
        "in_flight": counts.in_flight,
        "delayed": counts.delayed,
        "oldest": now_ms - (counts.oldest_ms or now_ms),
        "in": sent,
        "out": deleted,
    }
    return numbers[order]


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("is_up", [True, False])
async def test_sorting_only_what_is_not_zero_is_sorting_all(order: str, is_up: bool) -> None:
    bench = await measured_bench()
    rng = random.Random(5)
    for number in rng.sample(range(60), 60):
        queue = await bench.create(f"q{number:02}")
        bench.clock.advance_ms(rng.choice((0, 1_000)))
        await bench.send(queue, *["x"] * rng.choice((0, 0, 1, 2)))
        if rng.random() < 0.3:
            await bench.receive(queue, 1)
    await Sampler(bench.engine).sample()

    found = find(bench.engine, ACCOUNT, Choice(order=order, is_up=is_up))

    expected = sorted(bench.engine.registry, key=lambda queue: queue.name, reverse=order == "name" and not is_up)
    if order != "name":
        expected.sort(key=lambda queue: number_of(bench, queue, order), reverse=not is_up)
    assert [queue.name for queue in found] == [queue.name for queue in expected]


async def test_sorting_ten_thousand_queues_asks_the_cache_for_none(desk: Desk) -> None:
    desk.bench.cache.fail("survey", AssertionError("asked"))

    assert find(desk.bench.engine, ACCOUNT, Choice(order="oldest")) == []
