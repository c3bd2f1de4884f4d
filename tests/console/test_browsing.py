"""The console's pages for a long queue on Redis: their cost does not grow with the queue, and all messages can be
viewed page by page while others receive."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from html import unescape
from typing import cast

import pytest

from cqs.cache.redis.cache import RedisCache
from cqs.cache.redis.replies import Reply
from cqs.cache.redis.script import Script
from cqs.cache.redis.scripts import NAMES, load
from cqs.queue import Queue, Redrive
from cqs.service.draft_rules import Draft
from cqs.service.send import send_batch
from cqs.testing.clock import ManualClock
from cqs.testing.fake_redis import FakeRedisServer
from tests.console.desk import Desk, Seen, make_desk
from tests.console.talk import ORDERS, ids
from tests.engine import FailingCache, make_bench

LONG = 1_200
_NAME_OF = {load(name).text: name for name in NAMES}


class CountedRedis(FakeRedisServer):
    """Counts how often each script ran."""

    def __init__(self) -> None:
        super().__init__()
        self.ran: Counter[str] = Counter()

    async def run(self, script: Script, keys: Sequence[bytes], arguments: Sequence[bytes | str | int]) -> Reply:
        self.ran[_NAME_OF[script.text]] += 1
        return await super().run(script, keys, arguments)


@pytest.fixture
def server() -> CountedRedis:
    return CountedRedis()


@pytest.fixture
async def desk(server: CountedRedis) -> AsyncIterator[Desk]:
    clock = ManualClock()
    cache = RedisCache({"fake": server}, lambda key: "fake", random.Random(1), now_ms=clock.now_ms)
    desk = await make_desk(bench=await make_bench(clock=clock, cache=cast(FailingCache, cache)))
    yield desk
    await desk.client.close()


@pytest.fixture
async def orders(desk: Desk) -> Queue:
    return await desk.bench.create("orders", visibility_ms=60_000)


async def send_many(desk: Desk, queue: Queue, count: int) -> None:
    drafts = [Draft(f"m{number}", group=f"g{number % 3}") for number in range(count)]
    for start in range(0, count, 10):
        await send_batch(desk.bench.engine, queue, drafts[start : start + 10], "s")


async def on_from(desk: Desk, page: Seen) -> Seen | None:
    """Returns what "Show more", or the script that continues a search, loads next."""
    found = re.search(r'hx-get="/ADMIN([^"]*)"[^>]*hx-target="closest tr"', page.text) or re.search(
        r'hx-get="/ADMIN([^"]*after=[^"]*)"', page.text
    )
    return await desk.get(unescape(found[1])) if found else None


@pytest.mark.parametrize("length", [120, LONG])
@pytest.mark.parametrize(
    ("path", "browses"),
    [
        (ORDERS, 4),
        (f"{ORDERS}/messages", 1),
        (f"{ORDERS}/messages?state=in_flight", 1),
        (f"{ORDERS}/messages?text=nowhere", 5),
    ],
)
async def test_a_page_asks_for_as_much_of_a_long_queue_as_of_a_short_one(
    desk: Desk, orders: Queue, server: CountedRedis, path: str, browses: int, length: int
) -> None:
    await send_many(desk, orders, length)
    await desk.bench.receive(orders, 5)
    server.ran.clear()

    assert (await desk.get(path)).status == 200

    assert server.ran["scan"] == 0
    assert 1 <= server.ran["browse"] <= browses


async def test_show_more_goes_through_the_whole_queue_while_others_receive(desk: Desk, orders: Queue) -> None:
    await send_many(desk, orders, 230)
    page: Seen | None = await desk.get(f"{ORDERS}/messages")
    seen: list[str] = []
    taken: set[str] = set()
    while page is not None:
        seen += ids(page)
        taken |= {delivery.message.message_id for delivery in await desk.bench.receive(orders, 10)}
        page = await on_from(desk, page)

    assert len(seen) == len(set(seen)) == 230
    assert taken <= set(seen)


async def test_a_search_finds_what_stands_last(desk: Desk, orders: Queue) -> None:
    await send_many(desk, orders, LONG)
    page: Seen | None = await desk.get(f"{ORDERS}/messages?text=m{LONG - 1}")
    found: list[str] = []
    while page is not None:
        found += ids(page)
        page = await on_from(desk, page)

    assert len(found) == 1


async def test_taking_a_queue_away_as_csv_walks_over_it_once(desk: Desk, orders: Queue, server: CountedRedis) -> None:
    await send_many(desk, orders, LONG)
    server.ran.clear()

    page = await desk.get(f"{ORDERS}/messages.csv")

    assert page.text.count("\n") == LONG + 1
    assert (server.ran["scan"], server.ran["browse"]) == (0, LONG // 100)


async def test_the_workshop_and_the_groups_look_at_what_stands_first(
    desk: Desk, orders: Queue, server: CountedRedis
) -> None:
    await desk.bench.create("source", redrive=Redrive(orders.arn, 3))
    await send_many(desk, orders, LONG)
    server.ran.clear()

    workshop, page = await desk.get(f"{ORDERS}/dead-letters"), await desk.get(ORDERS)

    assert f"of {LONG:,} that match" in workshop.words
    assert "among the first 2,000 ready and in flight" in page.words
    assert server.ran["scan"] == 0
