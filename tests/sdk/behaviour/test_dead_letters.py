"""Dead-letter queues: which messages move and when, and which queues may be the target of which."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import pytest

from tests.sdk.behaviour.talk import (
    arn,
    attributes,
    bodies,
    counts,
    hide,
    receive,
    receive_one,
    refused,
    send,
    send_to_group,
    set_attributes,
)

NewQueue = Callable[..., str]
ACCOUNT_ARN = "arn:aws:sqs:us-east-1:000000000000"


def redrive(target_arn: str, count: object = 1) -> str:
    return json.dumps({"deadLetterTargetArn": target_arn, "maxReceiveCount": count})


@pytest.fixture
def pair(sqs: Any, new_queue: NewQueue) -> tuple[str, str]:
    """A queue with a maximum of one receive, and its dead-letter queue."""
    dead = new_queue("dead")
    return new_queue(RedrivePolicy=redrive(arn(sqs, dead)), VisibilityTimeout=0), dead


def receive_until_empty(sqs: Any, url: str) -> list[dict[str, Any]]:
    """Receives messages, then once more, which finds that they exceeded their maxReceiveCount."""
    first = receive(sqs, url, AttributeNames=["All"])
    assert receive(sqs, url) == []
    return first


def test_message_moves_when_a_receive_would_exceed_the_maximum(sqs: Any, pair: tuple[str, str]) -> None:
    url, dead = pair
    send(sqs, url, "poison")
    receive_until_empty(sqs, url)
    assert bodies(receive(sqs, dead, wait=20)) == ["poison"]
    assert counts(sqs, url) == (0, 0, 0)


def test_nothing_moves_until_a_receive_touches_it(sqs: Any, pair: tuple[str, str]) -> None:
    url, dead = pair
    send(sqs, url, "poison")
    receive_one(sqs, url)
    time.sleep(0.3)
    assert receive(sqs, dead) == []
    assert counts(sqs, url)[0] == 1


def test_moved_message_keeps_its_id_and_sent_time_and_tells_its_source(sqs: Any, pair: tuple[str, str]) -> None:
    url, dead = pair
    attribute = {"a": {"DataType": "String", "StringValue": "x"}}
    send(sqs, url, "poison", MessageAttributes=attribute)
    original = receive_until_empty(sqs, url)[0]
    moved = receive_one(sqs, dead)
    assert moved["MessageId"] == original["MessageId"]
    assert moved["MessageAttributes"] == attribute
    assert moved["Attributes"]["SentTimestamp"] == original["Attributes"]["SentTimestamp"]
    assert moved["Attributes"]["DeadLetterQueueSourceArn"] == arn(sqs, url)
    first_received = "ApproximateFirstReceiveTimestamp"
    assert moved["Attributes"][first_received] == original["Attributes"][first_received]


def test_maximum_of_three_is_three_receives(sqs: Any, new_queue: NewQueue) -> None:
    dead = new_queue("dead")
    url = new_queue(RedrivePolicy=redrive(arn(sqs, dead), 3), VisibilityTimeout=0)
    send(sqs, url)
    told = [receive_one(sqs, url)["Attributes"]["ApproximateReceiveCount"] for _ in range(3)]
    assert told == ["1", "2", "3"]
    assert receive(sqs, url) == []
    assert receive_one(sqs, dead)["Attributes"]["ApproximateReceiveCount"] == "4"


def test_receive_that_meets_a_dead_message_still_gives_the_living(sqs: Any, pair: tuple[str, str]) -> None:
    url, dead = pair
    send(sqs, url, "dead")
    receive_one(sqs, url)
    send(sqs, url, "living")
    assert bodies(receive(sqs, url, 1)) == ["living"]
    assert bodies(receive(sqs, dead, wait=20)) == ["dead"]


def test_fifo_message_moves_with_its_id_as_deduplication_id(sqs: Any, new_fifo: NewQueue) -> None:
    dead = new_fifo()
    url = new_fifo(RedrivePolicy=redrive(arn(sqs, dead)))
    send_to_group(sqs, url, "g", "1", "2")
    held = receive(sqs, url, 1)[0]
    hide(sqs, url, held, 0)
    assert bodies(receive(sqs, url, 1)) == ["2"]
    moved = receive_one(sqs, dead)
    assert moved["Body"] == "1"
    assert moved["MessageId"] == held["MessageId"]
    assert moved["Attributes"]["MessageDeduplicationId"] == held["MessageId"]
    assert moved["Attributes"]["MessageGroupId"] == "g"
    assert moved["Attributes"]["DeadLetterQueueSourceArn"] == arn(sqs, url)


def test_policy_is_told_back_and_removed_by_an_empty_value(sqs: Any, pair: tuple[str, str]) -> None:
    url, dead = pair
    told = json.loads(attributes(sqs, url, "RedrivePolicy")["RedrivePolicy"])
    assert told["deadLetterTargetArn"] == arn(sqs, dead)
    assert int(told["maxReceiveCount"]) == 1
    set_attributes(sqs, url, RedrivePolicy="")
    assert attributes(sqs, url, "RedrivePolicy") == {}


@pytest.mark.parametrize("count", [1, "1000"])
def test_maximum_may_be_a_number_or_a_text(sqs: Any, new_queue: NewQueue, count: object) -> None:
    url = new_queue(RedrivePolicy=redrive(arn(sqs, new_queue("dead")), count))
    told = json.loads(attributes(sqs, url, "RedrivePolicy")["RedrivePolicy"])
    assert int(told["maxReceiveCount"]) == int(str(count))


@pytest.mark.parametrize("count", [0, 1001, -1, "many", 2.5, None])
def test_bad_maximum_is_refused(sqs: Any, new_queue: NewQueue, count: object) -> None:
    target = arn(sqs, new_queue("dead"))
    with refused("InvalidParameterValue", "RedrivePolicy"):
        new_queue(RedrivePolicy=redrive(target, count))


@pytest.mark.parametrize("policy", ["{", "[]", "{}", '{"maxReceiveCount": 3}', '{"deadLetterTargetArn": "x", "y": 1}'])
def test_malformed_policy_is_refused(sqs: Any, new_queue: NewQueue, policy: str) -> None:
    with refused("InvalidParameterValue", "RedrivePolicy"):
        new_queue(RedrivePolicy=policy)


def test_missing_target_is_refused(sqs: Any, new_queue: NewQueue) -> None:
    with refused("InvalidParameterValue"):
        new_queue(RedrivePolicy=redrive(f"{ACCOUNT_ARN}:nowhere"))


def test_target_of_the_other_kind_is_refused(sqs: Any, new_queue: NewQueue, new_fifo: NewQueue) -> None:
    with refused("InvalidParameterValue"):
        new_queue(RedrivePolicy=redrive(arn(sqs, new_fifo())))
    with refused("InvalidParameterValue"):
        new_fifo(RedrivePolicy=redrive(arn(sqs, new_queue())))


def test_sources_of_a_dead_letter_queue_are_listed_in_pages(sqs: Any, new_queue: NewQueue) -> None:
    dead = new_queue("dead")
    sources = [new_queue(RedrivePolicy=redrive(arn(sqs, dead))) for _ in range(3)]
    new_queue()
    assert sorted(sqs.list_dead_letter_source_queues(QueueUrl=dead)["queueUrls"]) == sorted(sources)
    first = sqs.list_dead_letter_source_queues(QueueUrl=dead, MaxResults=2)
    second = sqs.list_dead_letter_source_queues(QueueUrl=dead, MaxResults=2, NextToken=first["NextToken"])
    assert sorted(first["queueUrls"] + second["queueUrls"]) == sorted(sources)
    assert "NextToken" not in second


def test_queue_without_sources_lists_none(sqs: Any, new_queue: NewQueue) -> None:
    assert sqs.list_dead_letter_source_queues(QueueUrl=new_queue()).get("queueUrls", []) == []


def test_deny_all_lets_no_source_in(sqs: Any, new_queue: NewQueue) -> None:
    dead = new_queue("dead", RedriveAllowPolicy=json.dumps({"redrivePermission": "denyAll"}))
    with refused("InvalidParameterValue"):
        new_queue(RedrivePolicy=redrive(arn(sqs, dead)))


def test_by_queue_lets_only_the_named_sources_in(sqs: Any, new_queue: NewQueue) -> None:
    friend, stranger = new_queue(), new_queue()
    allowed = {"redrivePermission": "byQueue", "sourceQueueArns": [arn(sqs, friend)]}
    dead = new_queue("dead", RedriveAllowPolicy=json.dumps(allowed))
    assert json.loads(attributes(sqs, dead, "RedriveAllowPolicy")["RedriveAllowPolicy"]) == allowed
    set_attributes(sqs, friend, RedrivePolicy=redrive(arn(sqs, dead)))
    with refused("InvalidParameterValue"):
        set_attributes(sqs, stranger, RedrivePolicy=redrive(arn(sqs, dead)))


@pytest.mark.parametrize(
    "policy",
    [
        {"redrivePermission": "someone"},
        {"redrivePermission": "allowAll", "sourceQueueArns": [f"{ACCOUNT_ARN}:a"]},
        {"redrivePermission": "byQueue"},
        {"redrivePermission": "byQueue", "sourceQueueArns": [f"{ACCOUNT_ARN}:q{number}" for number in range(11)]},
        {},
    ],
)
def test_bad_allow_policy_is_refused(sqs: Any, new_queue: NewQueue, policy: dict[str, Any]) -> None:
    with refused("InvalidParameterValue", "RedriveAllowPolicy"):
        new_queue(RedriveAllowPolicy=json.dumps(policy))
