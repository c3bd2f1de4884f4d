"""AddPermission and RemovePermission: the resulting policy."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.sdk.behaviour.talk import arn, attributes, refused

NewQueue = Callable[..., str]
FRIEND, OTHER = "111122223333", "444455556666"


def policy(sqs: Any, url: str) -> dict[str, Any]:
    return dict(json.loads(attributes(sqs, url, "Policy")["Policy"]))


def add(sqs: Any, url: str, label: str, accounts: list[str] | None = None, actions: list[str] | None = None) -> None:
    sqs.add_permission(
        QueueUrl=url, Label=label, AWSAccountIds=accounts or [FRIEND], Actions=actions or ["SendMessage"]
    )


def test_permission_becomes_a_statement(sqs: Any, new_queue: NewQueue) -> None:
    url = new_queue()
    add(sqs, url, "friends")
    written = policy(sqs, url)
    assert written["Version"] == "2008-10-17"
    assert written["Statement"] == [
        {
            "Sid": "friends",
            "Effect": "Allow",
            "Principal": {"AWS": f"arn:aws:iam::{FRIEND}:root"},
            "Action": "SQS:SendMessage",
            "Resource": arn(sqs, url),
        }
    ]


def test_several_accounts_and_actions_become_lists(sqs: Any, new_queue: NewQueue) -> None:
    url = new_queue()
    add(sqs, url, "friends", [FRIEND, OTHER], ["SendMessage", "ReceiveMessage"])
    statement = policy(sqs, url)["Statement"][0]
    assert statement["Principal"] == {"AWS": [f"arn:aws:iam::{FRIEND}:root", f"arn:aws:iam::{OTHER}:root"]}
    assert statement["Action"] == ["SQS:SendMessage", "SQS:ReceiveMessage"]


def test_every_action_is_a_star(sqs: Any, new_queue: NewQueue) -> None:
    url = new_queue()
    add(sqs, url, "all", actions=["*"])
    assert policy(sqs, url)["Statement"][0]["Action"] == "SQS:*"


def test_removed_permission_leaves_the_others(sqs: Any, new_queue: NewQueue) -> None:
    url = new_queue()
    add(sqs, url, "one")
    add(sqs, url, "two")
    sqs.remove_permission(QueueUrl=url, Label="one")
    assert [statement["Sid"] for statement in policy(sqs, url)["Statement"]] == ["two"]


def test_emptied_policy_disappears(sqs: Any, new_queue: NewQueue) -> None:
    url = new_queue()
    add(sqs, url, "one")
    sqs.remove_permission(QueueUrl=url, Label="one")
    assert attributes(sqs, url, "Policy") == {}


def test_same_label_again_is_refused(sqs: Any, new_queue: NewQueue) -> None:
    url = new_queue()
    add(sqs, url, "one")
    with refused("InvalidParameterValue", "Value one for parameter Label is invalid. Reason: Already exists."):
        add(sqs, url, "one")


def test_unknown_label_can_not_be_removed(sqs: Any, new_queue: NewQueue) -> None:
    with refused("InvalidParameterValue", "can't find label"):
        sqs.remove_permission(QueueUrl=new_queue(), Label="unknown")


def test_more_than_seven_actions_are_over_the_limit(sqs: Any, new_queue: NewQueue) -> None:
    actions = [
        "SendMessage",
        "ReceiveMessage",
        "DeleteMessage",
        "ChangeMessageVisibility",
        "GetQueueAttributes",
        "GetQueueUrl",
        "PurgeQueue",
        "ListDeadLetterSourceQueues",
    ]
    url = new_queue()
    add(sqs, url, "seven", actions=actions[:7])
    with refused("OverLimit", shape="OverLimit", status=403):
        add(sqs, url, "eight", actions=actions)


@pytest.mark.parametrize("label", ["", "x" * 81, "a b"])
def test_bad_label_is_refused(sqs: Any, new_queue: NewQueue, label: str) -> None:
    code = "MissingParameter" if label == "" else "InvalidParameterValue"
    with refused(code):
        add(sqs, new_queue(), label)


@pytest.mark.parametrize("action", ["Fly", "DeleteQueue"])
def test_action_that_can_not_be_shared_is_refused(sqs: Any, new_queue: NewQueue, action: str) -> None:
    with refused("InvalidParameterValue"):
        add(sqs, new_queue(), "label", actions=[action])


@pytest.mark.parametrize("account", ["abc", "123", "1" * 13])
def test_bad_account_is_refused(sqs: Any, new_queue: NewQueue, account: str) -> None:
    with refused("InvalidParameterValue"):
        add(sqs, new_queue(), "label", [account])
