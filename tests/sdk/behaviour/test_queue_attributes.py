"""Queue attributes: defaults, ranges, and which apply to which kind of queue."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import pytest

from tests.sdk.behaviour.talk import arn, attributes, refused, send, set_attributes

Names = Callable[[str], str]
NewQueue = Callable[..., str]

DEFAULTS = {
    "ApproximateNumberOfMessages": "0",
    "ApproximateNumberOfMessagesNotVisible": "0",
    "ApproximateNumberOfMessagesDelayed": "0",
    "DelaySeconds": "0",
    "MaximumMessageSize": "1048576",
    "MessageRetentionPeriod": "345600",
    "ReceiveMessageWaitTimeSeconds": "0",
    "VisibilityTimeout": "30",
    "SqsManagedSseEnabled": "true",
}
FIFO_DEFAULTS = {
    "FifoQueue": "true",
    "ContentBasedDeduplication": "false",
    "DeduplicationScope": "queue",
    "FifoThroughputLimit": "perQueue",
}
RANGES = {
    "DelaySeconds": (0, 900),
    "MaximumMessageSize": (1024, 1048576),
    "MessageRetentionPeriod": (60, 1209600),
    "ReceiveMessageWaitTimeSeconds": (0, 20),
    "VisibilityTimeout": (0, 43200),
    "KmsDataKeyReusePeriodSeconds": (60, 86400),
}


def test_standard_queue_has_the_defaults_of_sqs(sqs: Any, new_queue: NewQueue) -> None:
    told = attributes(sqs, new_queue())
    for stamp in ("CreatedTimestamp", "LastModifiedTimestamp"):
        assert abs(int(told.pop(stamp)) - time.time()) < 60
    assert told.pop("QueueArn").startswith("arn:aws:sqs:us-east-1:000000000000:queue-")
    assert told == DEFAULTS


def test_fifo_queue_adds_its_four(sqs: Any, new_fifo: NewQueue) -> None:
    told = attributes(sqs, new_fifo())
    for varying in ("CreatedTimestamp", "LastModifiedTimestamp", "QueueArn"):
        told.pop(varying)
    assert told == DEFAULTS | FIFO_DEFAULTS


def test_no_names_asked_for_means_no_attributes(sqs: Any, new_queue: NewQueue) -> None:
    assert sqs.get_queue_attributes(QueueUrl=new_queue()).get("Attributes", {}) == {}


def test_only_the_named_attributes_are_told(sqs: Any, new_queue: NewQueue) -> None:
    told = attributes(sqs, new_queue(), "DelaySeconds", "VisibilityTimeout")
    assert told == {"DelaySeconds": "0", "VisibilityTimeout": "30"}


def test_unset_attribute_is_left_out_without_an_error(sqs: Any, new_queue: NewQueue) -> None:
    assert attributes(sqs, new_queue(), "RedrivePolicy", "Policy") == {}


@pytest.mark.parametrize("name", ["Nonsense", "delayseconds"])
def test_unknown_name_is_refused_when_read(sqs: Any, new_queue: NewQueue, name: str) -> None:
    with refused("InvalidAttributeName", f"Unknown Attribute {name}.", "InvalidAttributeName"):
        attributes(sqs, new_queue(), name)


def test_unknown_name_is_refused_when_set_and_changes_nothing(sqs: Any, new_queue: NewQueue) -> None:
    url = new_queue()
    with refused("InvalidAttributeName", "Unknown Attribute Nonsense.", "InvalidAttributeName"):
        set_attributes(sqs, url, DelaySeconds=7, Nonsense=1)
    assert attributes(sqs, url, "DelaySeconds") == {"DelaySeconds": "0"}


def test_read_only_attribute_can_not_be_set(sqs: Any, new_queue: NewQueue) -> None:
    with refused("InvalidAttributeName"):
        set_attributes(sqs, new_queue(), QueueArn="arn:aws:sqs:us-east-1:000000000000:other")


@pytest.mark.parametrize(("name", "bound"), [(name, bound) for name, pair in RANGES.items() for bound in pair])
def test_bounds_can_be_set(sqs: Any, new_queue: NewQueue, name: str, bound: int) -> None:
    url = new_queue(**{name: bound})
    assert attributes(sqs, url, name) == {name: str(bound)}


@pytest.mark.parametrize(
    ("name", "value"),
    [(name, value) for name, (low, high) in RANGES.items() for value in (low - 1, high + 1)]
    + [("DelaySeconds", value) for value in ("", "abc", " 5", "1e1", "5.0", "\u0665", 2**31, 2**63)],
)
def test_value_out_of_range_is_refused(sqs: Any, new_queue: NewQueue, name: str, value: object) -> None:
    url = new_queue()
    before = attributes(sqs, url)
    with refused("InvalidAttributeValue", f"Invalid value for the parameter {name}."):
        set_attributes(sqs, url, **{name: value})
    assert attributes(sqs, url) == before


def test_value_out_of_range_creates_no_queue(sqs: Any, unique: Names) -> None:
    name = unique("orders")
    with refused("InvalidAttributeValue"):
        sqs.create_queue(QueueName=name, Attributes={"DelaySeconds": "901"})
    with refused("AWS.SimpleQueueService.NonExistentQueue"):
        sqs.get_queue_url(QueueName=name)


def test_changed_attributes_are_told_and_rule_at_once(sqs: Any, new_queue: NewQueue) -> None:
    url = new_queue()
    set_attributes(sqs, url, MaximumMessageSize=1024, VisibilityTimeout=77)
    assert attributes(sqs, url, "MaximumMessageSize", "VisibilityTimeout") == {
        "MaximumMessageSize": "1024",
        "VisibilityTimeout": "77",
    }
    send(sqs, url, "x" * 1024)
    with refused("InvalidParameterValue", "Message must be shorter than 1024 bytes."):
        send(sqs, url, "x" * 1025)


def test_fifo_attribute_is_unknown_on_a_standard_queue(sqs: Any, unique: Names) -> None:
    with refused("InvalidAttributeName", "Unknown Attribute FifoQueue."):
        sqs.create_queue(QueueName=unique("orders"), Attributes={"FifoQueue": "false"})


def test_kind_of_a_queue_can_not_be_changed(sqs: Any, new_fifo: NewQueue) -> None:
    with refused("InvalidAttributeValue", "Modifying queue type is not supported"):
        set_attributes(sqs, new_fifo(), FifoQueue="false")


def test_content_deduplication_needs_a_fifo_queue(sqs: Any, new_queue: NewQueue) -> None:
    with refused("InvalidAttributeName"):
        set_attributes(sqs, new_queue(), ContentBasedDeduplication="true")


def test_deduplication_scope_needs_a_fifo_queue(sqs: Any, new_queue: NewQueue) -> None:
    text = "You can specify the DeduplicationScope only when FifoQueue is set to true."
    with refused("InvalidAttributeName", text):
        set_attributes(sqs, new_queue(), DeduplicationScope="messageGroup")


def test_throughput_per_group_needs_deduplication_per_group(sqs: Any, new_fifo: NewQueue) -> None:
    url = new_fifo()
    with refused("InvalidAttributeValue"):
        set_attributes(sqs, url, FifoThroughputLimit="perMessageGroupId")
    set_attributes(sqs, url, FifoThroughputLimit="perMessageGroupId", DeduplicationScope="messageGroup")
    told = attributes(sqs, url, "FifoThroughputLimit", "DeduplicationScope")
    assert told == {"FifoThroughputLimit": "perMessageGroupId", "DeduplicationScope": "messageGroup"}


@pytest.mark.parametrize(("name", "value"), [("DeduplicationScope", "galaxy"), ("FifoThroughputLimit", "none")])
def test_unknown_choice_is_refused(sqs: Any, new_fifo: NewQueue, name: str, value: str) -> None:
    with refused("InvalidAttributeValue"):
        set_attributes(sqs, new_fifo(), **{name: value})


def test_kms_key_is_kept_and_removed_by_an_empty_value(sqs: Any, new_queue: NewQueue) -> None:
    url = new_queue(KmsMasterKeyId="alias/mine", SqsManagedSseEnabled="false")
    assert attributes(sqs, url, "KmsMasterKeyId") == {"KmsMasterKeyId": "alias/mine"}
    set_attributes(sqs, url, KmsMasterKeyId="")
    assert "KmsMasterKeyId" not in attributes(sqs, url)


def test_two_kinds_of_encryption_at_once_are_refused(sqs: Any, new_queue: NewQueue) -> None:
    text = "You can use one type of server-side encryption (SSE) at one time"
    with refused("InvalidAttributeName", text):
        set_attributes(sqs, new_queue(), KmsMasterKeyId="alias/mine", SqsManagedSseEnabled="true")


@pytest.mark.parametrize("policy", ["{", "[]", '"text"', json.dumps({"Version": "2012-10-17", "x": "y" * 8192})])
def test_bad_policy_is_refused(sqs: Any, new_queue: NewQueue, policy: str) -> None:
    with refused("InvalidAttributeValue", "Policy"):
        set_attributes(sqs, new_queue(), Policy=policy)


def test_policy_is_told_as_it_was_set_and_removed_by_an_empty_value(sqs: Any, new_queue: NewQueue) -> None:
    url = new_queue()
    statement = {"Effect": "Allow", "Principal": "*", "Action": "sqs:SendMessage", "Resource": arn(sqs, url)}
    policy = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
    set_attributes(sqs, url, Policy=policy)
    assert json.loads(attributes(sqs, url, "Policy")["Policy"]) == json.loads(policy)
    set_attributes(sqs, url, Policy="")
    assert attributes(sqs, url, "Policy") == {}


def test_a_change_moves_the_modified_stamp_and_not_the_created_one(sqs: Any, new_queue: NewQueue) -> None:
    url = new_queue()
    before = attributes(sqs, url, "CreatedTimestamp", "LastModifiedTimestamp")
    set_attributes(sqs, url, DelaySeconds=1)
    after = attributes(sqs, url, "CreatedTimestamp", "LastModifiedTimestamp")
    assert after["CreatedTimestamp"] == before["CreatedTimestamp"]
    assert int(after["LastModifiedTimestamp"]) >= int(before["LastModifiedTimestamp"])
