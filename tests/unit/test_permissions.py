"""Permissions: the policy that AddPermission and RemovePermission write."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from cqs.errors import InvalidAttributeValue, InvalidParameterValue, MissingParameter, OverLimit, QueueDoesNotExist
from cqs.queue import Queue
from cqs.service import permissions, queues
from tests.engine import ACCOUNT, Bench, make_bench

OTHER = "111111111111"
THIRD = "222222222222"


def policy_of(bench: Bench, queue: Queue) -> Any:
    text = bench.engine.registry.find(queue.key).settings.policy
    return json.loads(text) if text else None


async def test_one_account_and_one_action_stand_as_texts() -> None:
    bench = await make_bench()
    queue = await bench.create("orders")

    await permissions.add(bench.engine, queue, "readers", [OTHER], ["ReceiveMessage"])

    assert policy_of(bench, queue) == {
        "Version": "2008-10-17",
        "Id": f"arn:aws:sqs:us-east-1:{ACCOUNT}:orders/SQSDefaultPolicy",
        "Statement": [
            {
                "Sid": "readers",
                "Effect": "Allow",
                "Principal": {"AWS": f"arn:aws:iam::{OTHER}:root"},
                "Action": "SQS:ReceiveMessage",
                "Resource": f"arn:aws:sqs:us-east-1:{ACCOUNT}:orders",
            }
        ],
    }
    assert await bench.store.find(queue.key) == bench.engine.registry.find(queue.key)


async def test_several_stand_as_lists_without_repeats() -> None:
    bench = await make_bench()
    queue = await bench.create("orders")

    await permissions.add(bench.engine, queue, "all", [OTHER, THIRD, OTHER], ["SendMessage", "*", "SendMessage"])

    statement = policy_of(bench, queue)["Statement"][0]
    assert statement["Principal"]["AWS"] == [f"arn:aws:iam::{OTHER}:root", f"arn:aws:iam::{THIRD}:root"]
    assert statement["Action"] == ["SQS:SendMessage", "SQS:*"]


async def test_policy_ends_with_its_last_statement() -> None:
    bench = await make_bench()
    queue = await bench.create("orders")
    await permissions.add(bench.engine, queue, "a", [OTHER], ["SendMessage"])
    await permissions.add(bench.engine, queue, "b", [OTHER], ["SendMessage"])

    await permissions.remove(bench.engine, queue, "a")
    assert [statement["Sid"] for statement in policy_of(bench, queue)["Statement"]] == ["b"]

    await permissions.remove(bench.engine, queue, "b")
    assert policy_of(bench, queue) is None


async def test_own_policy_is_extended_and_kept() -> None:
    mine = {"Version": "2012-10-17", "Statement": {"Sid": "mine", "Effect": "Deny", "Principal": "*"}}
    bench = await make_bench()
    queue = await bench.create("orders", policy=json.dumps(mine))

    await permissions.add(bench.engine, queue, "a", [OTHER], ["SendMessage"])
    policy = policy_of(bench, queue)
    assert policy["Version"] == "2012-10-17"
    assert [statement["Sid"] for statement in policy["Statement"]] == ["mine", "a"]

    await permissions.remove(bench.engine, queue, "a")
    assert policy_of(bench, queue)["Statement"] == [mine["Statement"]]


async def test_permissions_added_at_once_are_all_kept() -> None:
    bench = await make_bench()
    queue = await bench.create("orders")
    bench.slow()

    await asyncio.gather(
        *(permissions.add(bench.engine, queue, f"label-{n}", [OTHER], ["SendMessage"]) for n in range(10))
    )

    assert len(policy_of(bench, queue)["Statement"]) == 10


async def test_label_is_used_once() -> None:
    bench = await make_bench()
    queue = await bench.create("orders")
    await permissions.add(bench.engine, queue, "a", [OTHER], ["SendMessage"])

    with pytest.raises(InvalidParameterValue) as raised:
        await permissions.add(bench.engine, queue, "a", [THIRD], ["ReceiveMessage"])

    assert str(raised.value) == "Value a for parameter Label is invalid. Reason: Already exists."


async def test_unknown_label_is_not_removed() -> None:
    bench = await make_bench()
    queue = await bench.create("orders")

    with pytest.raises(InvalidParameterValue) as raised:
        await permissions.remove(bench.engine, queue, "a")

    assert str(raised.value) == "Value a for parameter Label is invalid. Reason: can't find label."


@pytest.mark.parametrize("label", ["a b", "a.b", "x" * 81, "ä", "a\n"])
async def test_bad_label_is_refused(label: str) -> None:
    bench = await make_bench()
    queue = await bench.create("orders")

    with pytest.raises(InvalidParameterValue, match="for parameter Label is invalid"):
        await permissions.add(bench.engine, queue, label, [OTHER], ["SendMessage"])


async def test_missing_label_and_actions_are_named() -> None:
    bench = await make_bench()
    queue = await bench.create("orders")

    with pytest.raises(MissingParameter, match="parameter Label"):
        await permissions.add(bench.engine, queue, "", [OTHER], ["SendMessage"])
    with pytest.raises(MissingParameter, match="parameter Actions"):
        await permissions.add(bench.engine, queue, "a", [OTHER], [])
    with pytest.raises(MissingParameter, match="parameter Label"):
        await permissions.remove(bench.engine, queue, "")


@pytest.mark.parametrize(
    ("action", "reason"),
    [
        ("RemovePermission", "Only the queue owner is allowed to invoke this action."),
        ("StartMessageMoveTask", "Only the queue owner is allowed to invoke this action."),
        ("SendMessageBatch", "Please refer to the appropriate WSDL for a list of valid actions. "),
        ("Send", "Please refer to the appropriate WSDL for a list of valid actions. "),
        ("", "Please refer to the appropriate WSDL for a list of valid actions. "),
    ],
)
async def test_action_that_can_not_be_granted_is_refused(action: str, reason: str) -> None:
    bench = await make_bench()
    queue = await bench.create("orders")

    with pytest.raises(InvalidParameterValue) as raised:
        await permissions.add(bench.engine, queue, "a", [OTHER], ["SendMessage", action])

    assert str(raised.value) == f"Value SQS:{action} for parameter ActionName is invalid. Reason: {reason}"
    assert policy_of(bench, queue) is None


async def test_eighth_action_is_over_the_limit() -> None:
    bench = await make_bench()
    queue = await bench.create("orders")
    actions = sorted(permissions.GRANTABLE)[:8]

    await permissions.add(bench.engine, queue, "seven", [OTHER], actions[:7])
    with pytest.raises(OverLimit) as raised:
        await permissions.add(bench.engine, queue, "eight", [OTHER], actions)

    assert str(raised.value) == "8 Actions were found, maximum allowed is 7."


@pytest.mark.parametrize("accounts", [[], ["1"], [OTHER, "me"], ["1" * 13], ["\u0661" * 12]])
async def test_accounts_have_twelve_digits(accounts: list[str]) -> None:
    bench = await make_bench()
    queue = await bench.create("orders")

    with pytest.raises(InvalidParameterValue) as raised:
        await permissions.add(bench.engine, queue, "a", accounts, ["SendMessage"])

    value = ", ".join(accounts)
    assert str(raised.value) == f"Value [{value}] for parameter PrincipalId is invalid. Reason: Unable to verify."


async def test_policy_keeps_to_its_limits() -> None:
    bench = await make_bench()
    many, long = await bench.create("many"), await bench.create("long")
    accounts = [f"{number:012}" for number in range(250)]

    for number in range(20):
        await permissions.add(bench.engine, many, f"label-{number}", [OTHER], ["SendMessage"])
    with pytest.raises(OverLimit, match="20"):
        await permissions.add(bench.engine, many, "label-20", [OTHER], ["SendMessage"])
    with pytest.raises(OverLimit, match="8192 bytes"):
        await permissions.add(bench.engine, long, "a", accounts, ["SendMessage"])


@pytest.mark.parametrize("policy", ["[]", "{", '{"Statement": ' + "[" * 8_000])
async def test_policy_that_is_no_object_is_not_touched(policy: str) -> None:
    bench = await make_bench()
    queue = await bench.create("orders", policy=policy)

    with pytest.raises(InvalidAttributeValue, match="Policy"):
        await permissions.add(bench.engine, queue, "a", [OTHER], ["SendMessage"])


async def test_permission_for_a_deleted_queue_is_refused() -> None:
    bench = await make_bench()
    queue = await bench.create("orders")
    await queues.delete(bench.engine, queue)

    with pytest.raises(QueueDoesNotExist):
        await permissions.add(bench.engine, queue, "a", [OTHER], ["SendMessage"])
