"""Changing queues in the console: create, change, purge, delete."""

from __future__ import annotations

import pytest

from cqs.queue import DedupScope, QueueName, Redrive, RedriveAllow, RedrivePermission, ThroughputLimit
from cqs.service import tags
from tests.console.desk import Desk, Seen
from tests.engine import ACCOUNT

FORM = {
    "visibility_ms": "30 s",
    "retention_ms": "4 d",
    "delay_ms": "0",
    "receive_wait_ms": "0",
    "message_size_max": "1048576",
}


async def create(desk: Desk, **more: str | list[str]) -> Seen:
    return await desk.post("/queues/create", {**FORM, **more})


POLICY = '{"Statement": {"Effect": "Allow", "Principal": "*", "Action": "sqs:SendMessage", "Resource": "*"}}'
LIMITS = {
    "visibility_ms": "2 m",
    "retention_ms": "14 d",
    "delay_ms": "5",
    "receive_wait_ms": "20 s",
    "message_size_max": "2,048",
}


async def test_a_queue_is_created_with_everything(desk: Desk) -> None:
    dead = await desk.bench.create("dead.fifo")

    page = await create(
        desk,
        name="ledger",
        is_fifo="1",
        **LIMITS,
        dead_letter="dead.fifo",
        receive_count_max="7",
        redrive_allow="byQueue",
        allowed_sources="a.fifo\nb.fifo",
        encryption="kms",
        kms_key_id="alias/x",
        kms_reuse_s="10 m",
        is_content_dedup="1",
        dedup_scope="messageGroup",
        throughput_limit="perMessageGroupId",
        tags="team = shop\nstage=a=b",
        policy=POLICY,
    )

    queue = desk.bench.engine.registry.find(QueueName(ACCOUNT, "ledger.fifo"))
    settings = queue.settings
    assert page.path == f"/ADMIN/q/{ACCOUNT}/ledger.fifo"
    assert "Queue ledger.fifo was created." in page.words
    assert (settings.visibility_ms, settings.retention_ms, settings.delay_ms) == (120_000, 1_209_600_000, 5_000)
    assert (settings.receive_wait_ms, settings.message_size_max) == (20_000, 2_048)
    assert settings.redrive == Redrive(dead.arn, 7)
    arns = tuple(f"arn:aws:sqs:us-east-1:{ACCOUNT}:{name}.fifo" for name in "ab")
    assert settings.redrive_allow == RedriveAllow(RedrivePermission.BY_QUEUE, arns)
    assert (settings.kms_key_id, settings.kms_reuse_s, settings.is_sse_managed) == ("alias/x", 600, False)
    assert settings.is_content_dedup
    assert (settings.dedup_scope, settings.throughput_limit) == (DedupScope.GROUP, ThroughputLimit.GROUP)
    assert settings.policy == POLICY
    assert queue.tags == {"team": "shop", "stage": "a=b"}


@pytest.mark.parametrize(
    ("field", "value", "told"),
    [
        ("name", "", "Can only include alphanumeric"),
        ("name", "a b", "Can only include alphanumeric"),
        ("name", "orders", "A queue named 'orders' already exists"),
        ("visibility_ms", "13 h", "Visibility timeout: 0 s to 12 h"),
        ("visibility_ms", "-1", "Visibility timeout"),
        ("visibility_ms", "٥", "Visibility timeout"),
        ("retention_ms", "59", "Retention: 1 m to 14 d"),
        ("message_size_max", "1023", "Maximum message size"),
        ("message_size_max", "1e6", "Maximum message size"),
        ("dead_letter", "nowhere", "Dead letter target does not exist"),
        ("receive_count_max", "0", "Maximum receives: a whole number from 1 to 1,000"),
        ("redrive_allow", "byQueue", "name 1 to 10"),
        ("encryption", "magic", "Encryption: it must be one of"),
        ("policy", "{", "Invalid value for the parameter Policy"),
        ("policy", '{"Statement": {"Effect": "Perhaps"}}', "Effect must be Allow or Deny"),
        ("tags", "aws:x = 1", "reserved"),
        ("tags", "a = 1\na = 2", "is given twice"),
        ("account", "123", "Account: twelve digits"),
    ],
)
async def test_a_wrong_value_is_named_and_the_rest_stays_typed(desk: Desk, field: str, value: str, told: str) -> None:
    await desk.bench.create("orders")
    fields = {"name": "new", "dead_letter": "orders", "receive_count_max": "3", "tags": "keep = me"} | {field: value}

    page = await create(desk, **fields)

    assert page.status == 422
    assert told in page.words
    assert field == "tags" or "keep = me" in page.text
    assert [queue.name for queue in desk.bench.engine.registry] == ["orders"]


async def change(desk: Desk, **fields: str) -> Seen:
    queue = desk.bench.engine.registry.find(QueueName(ACCOUNT, "orders"))
    return await desk.post(f"/q/{ACCOUNT}/orders/settings", {**FORM, "version": str(queue.version), **fields})


async def test_settings_and_tags_are_changed_and_written_down(desk: Desk) -> None:
    queue = await desk.bench.create("orders", policy="")
    await tags.tag(desk.bench.engine, queue, {"old": "1", "kept": "2"})

    page = await change(desk, visibility_ms="1 m", tags="kept = 2\nnew = 3")

    changed = desk.bench.engine.registry.find(queue.key)
    assert "Saved." in page.words
    assert changed.settings.visibility_ms == 60_000
    assert changed.tags == {"kept": "2", "new": "3"}
    log = await desk.get("/changes")
    assert "VisibilityTimeout=60, -tag old, tag new=3" in log.words


async def test_saving_what_is_so_already_writes_nothing(desk: Desk) -> None:
    queue = await desk.bench.create("orders")

    page = await change(desk)

    assert "Nothing had changed." in page.words
    assert desk.bench.engine.registry.find(queue.key).version == queue.version


async def test_a_change_of_what_somebody_else_changed_meanwhile_is_refused(desk: Desk) -> None:
    queue = await desk.bench.create("orders")
    await tags.tag(desk.bench.engine, queue, {"a": "b"})

    page = await desk.post(f"/q/{ACCOUNT}/orders/settings", {**FORM, "version": "0", "visibility_ms": "1 m"})

    assert "Somebody else has changed this queue meanwhile" in page.words
    assert desk.bench.engine.registry.find(queue.key).settings.visibility_ms == 30_000


@pytest.mark.parametrize("wrong", [{}, {"delay_ms": "soon"}])
async def test_a_refused_form_stays_of_the_version_it_was_typed_for(desk: Desk, wrong: dict[str, str]) -> None:
    queue = await desk.bench.create("orders")
    await tags.tag(desk.bench.engine, queue, {"a": "b"})
    fields = {**FORM, "version": "0", "visibility_ms": "1 m"}

    refused = await desk.post(f"/q/{ACCOUNT}/orders/settings", {**fields, **wrong})
    version = refused.text.split('name="version" value="')[1].partition('"')[0]
    again = await desk.post(f"/q/{ACCOUNT}/orders/settings", {**fields, "version": version})

    assert "Somebody else has changed this queue meanwhile" in again.words
    assert desk.bench.engine.registry.find(queue.key).tags == {"a": "b"}


async def test_a_purge_needs_the_name_and_says_how_much_will_go(desk: Desk) -> None:
    queue = await desk.bench.create("orders")
    await desk.bench.send(queue, "one", "two")

    asked = await desk.get("/queues/sure?do=purge&chosen=orders")
    wrong = await desk.post("/queues/purge", chosen="orders", typed="order")
    still = (await desk.bench.counts(queue)).ready
    right = await desk.post("/queues/purge", chosen="orders", typed="orders")

    assert "2 messages now" in asked.words
    assert "Nothing was done" in wrong.words
    assert still == 2
    assert "orders purged." in right.words
    assert (await desk.bench.counts(desk.bench.engine.registry.find(queue.key))).ready == 0


async def test_many_queues_are_deleted_at_once_and_failures_are_told(desk: Desk) -> None:
    for name in ("a", "b"):
        await desk.bench.create(name)

    page = await desk.post("/queues/delete", {"chosen": ["a", "b", "gone"], "typed": "delete 3 queues"})

    assert "2 queues deleted. Not deleted: gone" in page.words
    assert len(desk.bench.engine.registry) == 0


async def test_a_second_purge_too_soon_is_told(desk: Desk) -> None:
    await desk.bench.create("orders")
    await desk.post("/queues/purge", chosen="orders", typed="orders")

    page = await desk.post("/queues/purge", chosen="orders", typed="orders")

    assert "Only one PurgeQueue operation" in page.words
