"""Queue policies: the text, the builder, and the tester that answers "can X do Y?"."""

from __future__ import annotations

import json

import pytest

from cqs.queue import Queue
from tests.console.desk import Desk, Seen
from tests.engine import ACCOUNT

POLICY_PAGE = f"/q/{ACCOUNT}/orders/policy"
OTHER = "111122223333"


@pytest.fixture
async def orders(desk: Desk) -> Queue:
    queue = await desk.bench.create("orders")
    await desk.get("/queues")
    return queue


def policy_of(desk: Desk, queue: Queue) -> str:
    return desk.bench.engine.registry.find(queue.key).settings.policy


def version_on(page: Seen) -> str:
    return page.text.split('name="version" value="')[1].partition('"')[0]


async def test_a_statement_is_built_listed_and_removed(desk: Desk, orders: Queue) -> None:
    fields: dict[str, str | list[str]] = {
        "label": "partner",
        "accounts": OTHER,
        "actions": ["SendMessage", "GetQueueUrl"],
    }

    added = await desk.post(f"{POLICY_PAGE}/add", fields)
    built = json.loads(policy_of(desk, orders))
    removed = await desk.post(f"{POLICY_PAGE}/remove", label="partner")

    assert "partner is in effect." in added.words
    assert built["Statement"][0]["Action"] == ["SQS:SendMessage", "SQS:GetQueueUrl"]
    assert "partner was removed." in removed.words
    assert policy_of(desk, orders) == ""


async def test_a_bad_policy_is_refused_with_the_reason_and_stays_typed(desk: Desk, orders: Queue) -> None:
    text = '{"Statement": {"Effect": "Allow", "Principal": "*", "Action": "sqs:Fly", "Resource": "*"}}'

    page = await desk.post(POLICY_PAGE, policy=text)

    assert page.status == 422
    assert "action 'sqs:Fly' is not an SQS action" in page.words
    assert "sqs:Fly" in page.text
    assert policy_of(desk, orders) == ""


async def test_a_policy_that_somebody_else_changed_meanwhile_is_not_written_over(desk: Desk, orders: Queue) -> None:
    page = await desk.get(POLICY_PAGE)
    await desk.post(f"{POLICY_PAGE}/add", label="partner", accounts=OTHER, actions="SendMessage")
    kept = policy_of(desk, orders)

    refused = await desk.post(POLICY_PAGE, policy="", version=version_on(page))
    again = await desk.post(POLICY_PAGE, policy="", version=version_on(refused))

    assert refused.status == again.status == 422
    assert "Somebody else has changed this queue meanwhile" in again.words
    assert policy_of(desk, orders) == kept


async def test_a_policy_is_checked_while_it_is_typed(desk: Desk, orders: Queue) -> None:
    good = '{"Statement": {"Effect": "Allow", "Principal": "*", "Action": "*", "Resource": "*"}}'

    assert "A policy of 1 statement." in (await desk.post(f"{POLICY_PAGE}/check", policy=good)).words
    assert "Reason" in (await desk.post(f"{POLICY_PAGE}/check", policy="{")).words
    assert policy_of(desk, orders) == ""


@pytest.mark.parametrize(
    ("caller", "action", "more", "answer"),
    [
        (ACCOUNT, "PurgeQueue", "", "Yes, arn:aws:iam::000000000000:root may PurgeQueue: it is the owning account."),
        (OTHER, "SendMessage", "&ip=192.0.2.7", "a statement allows it, and none denies it"),
        (OTHER, "SendMessage", "&ip=198.51.100.1", "No."),
        (OTHER, "ReceiveMessage", "&ip=192.0.2.7", "No."),
        (f"{OTHER}/bob", "SendMessage", "&ip=192.0.2.7", "explicit deny"),
        ("999999999999", "SendMessage", "", "this queue does not exist"),
        ("somebody", "SendMessage", "", "Enter an account of twelve digits"),
        (f"{OTHER}/<b>", "SendMessage", "", "Enter an account"),
    ],
)
async def test_can_x_do_y(desk: Desk, orders: Queue, caller: str, action: str, more: str, answer: str) -> None:
    allow = {
        "Effect": "Allow",
        "Principal": {"AWS": OTHER},
        "Action": "sqs:SendMessage",
        "Resource": orders.arn,
        "Condition": {"IpAddress": {"aws:SourceIp": "192.0.2.0/24"}},
    }
    deny = {
        "Effect": "Deny",
        "Principal": {"AWS": f"arn:aws:iam::{OTHER}:user/bob"},
        "Action": "sqs:*",
        "Resource": "*",
    }
    await desk.post(POLICY_PAGE, policy=json.dumps({"Version": "2012-10-17", "Statement": [allow, deny]}))

    asked = await desk.get(f"{POLICY_PAGE}/try?caller={caller}&action={action}{more}", HX_Request="true")
    whole = await desk.get(f"{POLICY_PAGE}?caller={caller}&action={action}{more}")

    assert answer in asked.words
    assert answer in whole.words, "also without a script"
    assert "<html" not in asked.text
