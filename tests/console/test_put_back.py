"""Settings, tags and policies change at once, and the change can be reverted for a minute."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from admin.grace import OFFERS_MAX, REGRET_MS, Grace
from cqs.errors import StoreUnavailable
from cqs.identity import Role
from cqs.queue import Queue, QueueName
from cqs.service import queues
from tests.console.desk import Desk, Seen, make_desk
from tests.engine import ACCOUNT, make_bench, until

ORDERS = f"/q/{ACCOUNT}/orders"
NAME = QueueName(ACCOUNT, "orders")


@pytest.fixture
def over() -> asyncio.Event:
    """An event; when it is set, the minute is over."""
    return asyncio.Event()


@pytest.fixture
async def desk(over: asyncio.Event) -> AsyncIterator[Desk]:
    bench = await make_bench()

    async def pause(wait_s: float) -> None:
        assert wait_s == REGRET_MS / 1_000
        await over.wait()

    desk = await make_desk(bench=bench, grace=Grace(bench.clock, pause=pause))
    await bench.create("orders")
    yield desk
    await desk.client.close()


def now(desk: Desk) -> Queue:
    queue = desk.bench.engine.registry.get(NAME)
    assert queue is not None
    return queue


async def save(desk: Desk, **changes: str) -> Seen:
    fields = {"visibility_ms": "30", "retention_ms": "4 d", "delay_ms": "0", "receive_wait_ms": "0"}
    fields |= {"message_size_max": "1048576", "dead_letter": "", "receive_count_max": "", "encryption": "managed"}
    return await desk.post(f"{ORDERS}/settings", fields | {"tags": "", "version": str(now(desk).version)} | changes)


def number(desk: Desk) -> int:
    return desk.console.grace.of(ACCOUNT)[-1].number


async def test_settings_and_tags_are_put_back_in_one_step(desk: Desk) -> None:
    await save(desk, tags="team = a")
    before = now(desk)

    page = await save(desk, visibility_ms="2 m", tags="team = b\nstage = c")
    assert (now(desk).settings.visibility_ms, now(desk).tags) == (120_000, {"team": "b", "stage": "c"})
    assert "orders was changed: VisibilityTimeout=120, tag team=b, tag stage=c. It can be undone until" in page.words
    undone = await desk.post(f"/undo/{number(desk)}")

    assert "Restored to what it was." in undone.words
    assert (now(desk).settings, now(desk).tags) == (before.settings, before.tags)
    assert await desk.bench.store.find(NAME) == now(desk)
    assert "Too late" in (await desk.post("/undo/2")).words


async def test_what_somebody_else_changed_since_is_never_overwritten(desk: Desk) -> None:
    await save(desk, visibility_ms="2 m")
    await queues.change_settings(desk.bench.engine, now(desk), {"delay_ms": 5_000})

    page = await desk.post(f"/undo/{number(desk)}")

    assert "Somebody else has changed this queue meanwhile, so the change was not undone." in page.words
    assert (now(desk).settings.visibility_ms, now(desk).settings.delay_ms) == (120_000, 5_000)


async def test_only_the_last_change_of_a_queue_can_be_put_back(desk: Desk) -> None:
    await save(desk, visibility_ms="2 m")
    await save(desk, visibility_ms="3 m")

    assert len(desk.console.grace.of(ACCOUNT)) == 1
    await desk.post(f"/undo/{number(desk)}")
    assert now(desk).settings.visibility_ms == 120_000


async def test_it_can_be_tried_again_while_the_store_is_away(desk: Desk) -> None:
    await save(desk, visibility_ms="2 m")
    desk.bench.store.fail("save", StoreUnavailable("the disk is full"))

    assert "the disk is full" in (await desk.post(f"/undo/{number(desk)}")).words
    await desk.post(f"/undo/{number(desk)}")

    assert now(desk).settings.visibility_ms == 30_000


async def test_when_the_minute_is_over_nothing_is_put_back(desk: Desk, over: asyncio.Event) -> None:
    await save(desk, visibility_ms="2 m")
    last = number(desk)
    over.set()
    await until(lambda: not desk.console.grace.of(ACCOUNT))

    assert "Too late" in (await desk.post(f"/undo/{last}")).words
    assert now(desk).settings.visibility_ms == 120_000


async def test_a_server_that_ends_puts_nothing_back(desk: Desk) -> None:
    await save(desk, visibility_ms="2 m")

    await desk.console.grace.end()

    assert now(desk).settings.visibility_ms == 120_000


async def test_a_save_that_changed_nothing_offers_nothing(desk: Desk) -> None:
    assert "Undo" not in (await save(desk)).words


async def test_policies_are_put_back(desk: Desk) -> None:
    add = {"label": "partner", "accounts": "111122223333", "actions": "SendMessage"}
    await desk.post(f"{ORDERS}/policy/add", add)
    with_partner = now(desk).settings.policy
    assert "partner" in with_partner

    await desk.post(f"{ORDERS}/policy/remove", label="partner")
    await desk.post(f"/undo/{number(desk)}")
    assert now(desk).settings.policy == with_partner
    await desk.post(f"{ORDERS}/policy", policy="")
    await desk.post(f"/undo/{number(desk)}")
    assert now(desk).settings.policy == with_partner


async def test_the_delay_of_a_line_is_put_back_for_what_waits_in_it(desk: Desk) -> None:
    line = await desk.bench.create("line.fifo", is_content_dedup=True)
    fields = {"visibility_ms": "30", "retention_ms": "4 d", "receive_wait_ms": "0", "message_size_max": "1048576"}
    fields |= {"encryption": "managed", "dedup_scope": "queue", "throughput_limit": "perQueue", "tags": ""}
    fields |= {"is_content_dedup": "1", "version": str(line.version), "delay_ms": "60"}
    await desk.post(f"/q/{ACCOUNT}/line.fifo/settings", fields)
    changed = desk.bench.engine.registry.get(line.key)
    assert changed is not None
    await desk.bench.send(changed, "one", group="g")
    assert (await desk.bench.counts(line)).delayed == 1

    await desk.post(f"/undo/{number(desk)}")

    assert (await desk.bench.counts(line)).ready == 1


async def test_who_may_not_change_the_queue_puts_nothing_back(desk: Desk) -> None:
    await desk.add_user("alice", Role.ADMINISTRATOR)
    await desk.add_user("reader", Role.READ_ONLY)
    await desk.add_user("stranger", Role.ADMINISTRATOR, "111122223333")
    await desk.log_in("alice")
    await save(desk, visibility_ms="2 m")
    last = number(desk)
    for name in ("reader", "stranger"):
        await desk.log_in(name)
        page = await desk.post(f"/undo/{last}")
        assert page.status == 403 or "Too late" in page.words

    assert now(desk).settings.visibility_ms == 120_000


async def test_offers_are_bounded_and_never_hold_up_a_purge(desk: Desk) -> None:
    grace = desk.console.grace

    async def nothing() -> None:
        pass

    for place in range(OFFERS_MAX + 5):
        grace.offer("changed", QueueName(ACCOUNT, f"q{place}"), nothing)

    kept = grace.of(ACCOUNT)
    assert (len(kept), kept[0].queue) == (OFFERS_MAX, "q5")
